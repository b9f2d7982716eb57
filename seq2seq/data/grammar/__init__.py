"""The embedded default corpus: an English-German grammar that writes parallel text with gold
word alignments, deterministic from a seed and of any size.

The text comes tokenised, one space between tokens, punctuation apart, and without sentence case
(only names and what English or German always capitalise), so that each word has one form and
white space is all the tokenizer it needs. ``lexicon`` holds the words, ``composer`` makes phrases
of them in both languages at once, ``corpus`` writes the files.

Each side determines the other, up to rare ambiguities, so a perfect translator would come close
to 100 BLEU; and words are drawn near-uniformly from large classes, so that the content of a
sentence grows with its length while the state of a recurrent network does not.
"""

from seq2seq.data.grammar.corpus import SentencePair, sentence, training_pairs, write_corpus

__all__ = ["SentencePair", "sentence", "training_pairs", "write_corpus"]
