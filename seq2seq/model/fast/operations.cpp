// The operations of operations.py for a CPU, in float32, without intermediate arrays.
//
// cpp.py builds this file with the machine's own compiler, and calls its functions as plain C. The
// file needs no PyTorch headers. Arrays are dense unless a stride ("ld", in elements, from one row
// to the next) is given. Narrow arrays hold float32 or bfloat16: `bf16` says which. Rows are
// divided among OpenMP threads statically and each sum is taken in one order, so equal inputs and
// thread counts give equal bits.

#include <omp.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using extent = std::int64_t;

const extent PAD = 0;  // as in data/vocabulary.py

using bfloat = std::uint16_t;  // the upper half of a float

template <typename To, typename From>
inline To bits(From from) {  // std::bit_cast, which C++17 lacks
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline float wide(float x) { return x; }
inline float wide(bfloat x) {
    return bits<float>(static_cast<std::uint32_t>(x) << 16);
}

inline void put(float x, float* place) { *place = x; }
inline void put(float x, bfloat* place) {  // rounds to the nearest, ties to even
    std::uint32_t word = bits<std::uint32_t>(x);
    std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
    std::uint32_t number = x == x ? rounded : word | 0x400000u;  // a NaN stays a NaN
    *place = static_cast<bfloat>(number >> 16);
}

// x = n ln 2 + r: returns 2^n, and e^r - 1 by its series (|r| < 0.35: exact to float32).
struct Split {
    float power, rest;
};

inline Split split_exp(float x) {
    x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
    const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    float n = (x * 1.44269504f + shift) - shift;
    float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;  // ln 2 in two parts
    float series = 1.0f / 5040.0f;
    series = series * r + 1.0f / 720.0f;
    series = series * r + 1.0f / 120.0f;
    series = series * r + 1.0f / 24.0f;
    series = series * r + 1.0f / 6.0f;
    series = series * r + 0.5f;
    std::uint32_t exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
    return {bits<float>(exponent), r + r * r * series};
}

inline float exponential(float x) {
    Split s = split_exp(x);
    return s.power + s.power * s.rest;
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

// tanh|x| = -m / (m + 2) with m = e^(-2|x|) - 1, which loses no digits near zero.
inline float tanh(float x) {
    Split s = split_exp(-2.0f * std::fabs(x));
    float m = s.power * s.rest + (s.power - 1.0f);
    return std::copysign(-m / (m + 2.0f), x);
}

template <typename T>
void cell(extent batch, extent width, const T* inputs, const T* product, const float* before,
          float* gates, float* after, float* hidden, T* narrow, extent ld_narrow) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < batch; ++b) {
        const T* x = inputs + b * 4 * width;
        const T* p = product + b * 4 * width;
        const float* c = before + b * width;
        float* g = gates + b * 4 * width;
        float *c_new = after + b * width, *h = hidden + b * width;
        T* n = narrow + b * ld_narrow;
#pragma omp simd
        for (extent j = 0; j < width; ++j) {
            float in = sigmoid(wide(x[j]) + wide(p[j]));
            float forget = sigmoid(wide(x[width + j]) + wide(p[width + j]));
            float fresh = tanh(wide(x[2 * width + j]) + wide(p[2 * width + j]));
            float out = sigmoid(wide(x[3 * width + j]) + wide(p[3 * width + j]));
            float state = forget * c[j] + in * fresh;
            float shown = out * tanh(state);
            g[j] = in, g[width + j] = forget, g[2 * width + j] = fresh, g[3 * width + j] = out;
            c_new[j] = state, h[j] = shown;
            put(shown, n + j);
        }
    }
}

template <typename T>
void cell_backward(extent batch, extent width, const float* gates, const float* before,
                   const float* after, const float* d_hidden, float* d_cell, T* d_gates) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < batch; ++b) {
        const float* g = gates + b * 4 * width;
        const float *c = before + b * width, *c_new = after + b * width;
        const float* dh = d_hidden + b * width;
        float* dc = d_cell + b * width;
        T* dg = d_gates + b * 4 * width;
#pragma omp simd
        for (extent j = 0; j < width; ++j) {
            float in = g[j], forget = g[width + j], fresh = g[2 * width + j],
                  out = g[3 * width + j];
            float shown = tanh(c_new[j]);
            float d = dc[j] + dh[j] * out * (1.0f - shown * shown);
            put(d * fresh * in * (1.0f - in), dg + j);
            put(d * c[j] * forget * (1.0f - forget), dg + width + j);
            put(d * in * (1.0f - fresh * fresh), dg + 2 * width + j);
            put(dh[j] * shown * out * (1.0f - out), dg + 3 * width + j);
            dc[j] = d * forget;
        }
    }
}

template <typename T>
void attend(extent rows, extent hypotheses, extent positions, extent width, float* weights,
            const float* memory, float* context, T* narrow, extent ld_narrow) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < rows; ++b) {
        float* w = weights + b * positions;
        const float* own = memory + b / hypotheses * positions * width;
        const float excluded = -std::numeric_limits<float>::infinity();
        float top = excluded, sum = 0.0f;
        for (extent s = 0; s < positions; ++s) top = w[s] > top ? w[s] : top;
        for (extent s = 0; s < positions; ++s)
            sum += w[s] = w[s] == excluded ? 0.0f : exponential(w[s] - top);
        float* c = context + b * width;
        for (extent m = 0; m < width; ++m) c[m] = 0.0f;
        for (extent s = 0; s < positions; ++s) {
            float share = w[s] /= sum;
            if (share == 0.0f) continue;
            const float* h = own + s * width;
#pragma omp simd
            for (extent m = 0; m < width; ++m) c[m] += share * h[m];
        }
        T* n = narrow + b * ld_narrow;
#pragma omp simd
        for (extent m = 0; m < width; ++m) put(c[m], n + m);
    }
}

// Writes each row's two losses (see LossSums) to `sums`. If `wanted` is set, it also replaces the
// logits by their gradient, and adds the gradient of the bias to `d_bias`, a row for each thread.
template <typename T>
void softmax_loss(extent rows, extent words, T* logits, const float* bias, const extent* targets,
                  float smoothing, float scale, extent wanted, double* sums, float* d_bias,
                  extent threads) {
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
        float* d_own = d_bias + omp_get_thread_num() * words;
        std::vector<float> scratch(words);
        float* e = scratch.data();
#pragma omp for schedule(static)
        for (extent row = 0; row < rows; ++row) {
            T* l = logits + row * words;
            if (targets[row] == PAD) {  // does not count
                sums[2 * row] = sums[2 * row + 1] = 0;
                if (wanted) std::fill(l, l + words, T{});
                continue;
            }
            float top = -std::numeric_limits<float>::infinity(), total = 0.0f, sum = 0.0f;
#pragma omp simd reduction(max : top) reduction(+ : total)
            for (extent v = 0; v < words; ++v) {
                float x = e[v] = wide(l[v]) + bias[v];
                top = x > top ? x : top;
                total += x;
            }
            float chosen = e[targets[row]];
#pragma omp simd reduction(+ : sum)
            for (extent v = 0; v < words; ++v) sum += e[v] = exponential(e[v] - top);
            double log_sum = double(top) + std::log(double(sum));
            sums[2 * row] = log_sum - chosen;
            sums[2 * row + 1] = log_sum - double(total) / words;
            if (!wanted) continue;
            float share = scale / sum, floor = scale * smoothing / words;
            float correction = scale * (1.0f - smoothing);
            float at_target = e[targets[row]] * share - floor - correction;
#pragma omp simd
            for (extent v = 0; v < words; ++v) {
                float d = e[v] * share - floor;
                put(d, l + v);
                d_own[v] += d;
            }
            put(at_target, l + targets[row]);
            d_own[targets[row]] -= correction;
        }
    }
}

using lanes = float __attribute__((vector_size(32)));  // of GCC and Clang, for any processor
using narrow_lanes = bfloat __attribute__((vector_size(16)));
using words_of_lanes = std::uint32_t __attribute__((vector_size(32)));

// How products with weights of type T are computed: the type of the other factor's numbers, the
// vectors of `count` factors and of sums, and how many rows of weights are multiplied together with
// `rows` rows of the other factor (as many as there are registers for).
template <typename T>
struct Multiplier {
    using number = float;
    using factor = lanes;
    using sum = lanes;
    static constexpr extent count = 8;
    static constexpr int together(int rows) { return rows < 5 ? 3 : 2; }
};

inline void load(const float* place, lanes* loaded) {
    std::memcpy(loaded, place, sizeof *loaded);
}
inline void load(const bfloat* place, lanes* loaded) {
    narrow_lanes narrow;
    std::memcpy(&narrow, place, sizeof narrow);
    words_of_lanes words = __builtin_convertvector(narrow, words_of_lanes) << 16;
    std::memcpy(loaded, &words, sizeof words);
}
inline void add_products(lanes* sums, lanes x, lanes y) { *sums += x * y; }
inline float total(lanes sums) {
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) sum += sums[i];
    return sum;
}

#ifdef __AVX512BF16__  // the processor multiplies bfloat16: one instruction for 32 products
using wide_lanes = float __attribute__((vector_size(64)));
template <>
struct Multiplier<bfloat> {
    using number = bfloat;
    using factor = __m512bh;
    using sum = wide_lanes;
    static constexpr extent count = 32;
    static constexpr int together(int) { return 4; }
};
inline void load(const bfloat* place, __m512bh* loaded) {
    std::memcpy(loaded, place, sizeof *loaded);
}
inline void add_products(wide_lanes* sums, __m512bh x, __m512bh y) {
    *sums = _mm512_dpbf16_ps(*sums, x, y);
}
inline float total(wide_lanes sums) { return _mm512_reduce_add_ps(sums); }
#endif

// Products of R rows of x with N rows of weights; each weight is loaded once.
template <int R, int N, typename T, typename X>
inline void product_block(extent width, const X* x, const T* weight, extent ld,
                          const float* bias, const float* addend, float* y, extent words) {
    using Way = Multiplier<T>;
    typename Way::sum sums[R][N] = {};
    extent k = 0;
    for (; k + Way::count <= width; k += Way::count) {
        typename Way::factor w[N], v;
#pragma GCC unroll 5  // so that the sums stay in registers
        for (int n = 0; n < N; ++n) {
            load(weight + n * ld + k, &w[n]);
            // Processors read ahead within a row. Rows are short, so also ask for a later one.
            __builtin_prefetch(weight + (n + 2 * N) * ld + k);
        }
#pragma GCC unroll 5
        for (int r = 0; r < R; ++r) {
            load(x + r * width + k, &v);
#pragma GCC unroll 5
            for (int n = 0; n < N; ++n) add_products(&sums[r][n], w[n], v);
        }
    }
#pragma GCC unroll 5
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 5
        for (int n = 0; n < N; ++n) {
            float sum = total(sums[r][n]);
            for (extent i = k; i < width; ++i)
                sum += wide(weight[n * ld + i]) * wide(x[r * width + i]);
            if (bias) sum += bias[n];
            if (addend) sum += addend[r * words + n];
            y[r * words + n] = sum;
        }
}

// y = x weight^T + bias + addend, for few rows of x. For these, libraries take longer to pack the
// weights than to multiply. A result does not depend on the number of threads. With weights of
// bfloat16, x is rounded too if the processor multiplies bfloat16.
template <typename T>
void product(extent rows, extent width, extent words, const float* x, const T* weight, extent ld,
             const float* bias, const float* addend, float* y) {
    const extent block = 24, most = 5;
    std::vector<typename Multiplier<T>::number> factor(rows * width);
    for (extent i = 0; i < rows * width; ++i) put(x[i], &factor[i]);
    auto part = [&](auto r, auto n, extent row, extent word) {
        extent place = row * words + word;
        product_block<r, n, T>(width, factor.data() + row * width, weight + word * ld, ld,
                            bias ? bias + word : bias, addend ? addend + place : addend, y + place,
                            words);
    };
    auto span = [&](auto r, extent row, extent word, extent end) {
        std::integral_constant<int, Multiplier<T>::together(r)> several;
        for (; word + several <= end; word += several) part(r, several, row, word);
        for (; word < end; ++word) part(r, std::integral_constant<int, 1>(), row, word);
    };
#pragma omp parallel for schedule(static)
    for (extent word = 0; word < words; word += block) {
        extent end = word + block < words ? word + block : words;
        for (extent row = 0; row < rows; row += most) {
            switch (rows - row) {
                case 1: span(std::integral_constant<int, 1>(), row, word, end); break;
                case 2: span(std::integral_constant<int, 2>(), row, word, end); break;
                case 3: span(std::integral_constant<int, 3>(), row, word, end); break;
                case 4: span(std::integral_constant<int, 4>(), row, word, end); break;
                default: span(std::integral_constant<int, 5>(), row, word, end);
            }
        }
    }
}

// Logarithm of the sum of e^x over each row; minus infinity if all its numbers are minus infinity.
template <typename T>
void logsumexp(extent rows, extent words, const T* logits, extent ld, float* sums) {
#pragma omp parallel for schedule(static)
    for (extent row = 0; row < rows; ++row) {
        const T* l = logits + row * ld;
        float top = -std::numeric_limits<float>::infinity(), sum = 0.0f;
#pragma omp simd reduction(max : top)
        for (extent v = 0; v < words; ++v) top = wide(l[v]) > top ? wide(l[v]) : top;
        if (top == -std::numeric_limits<float>::infinity()) {
            sums[row] = top;
            continue;
        }
#pragma omp simd reduction(+ : sum)
        for (extent v = 0; v < words; ++v) sum += exponential(wide(l[v]) - top);
        sums[row] = top + std::log(sum);
    }
}

// The `count` largest logits of each row, in falling order; of equal ones, the first comes first.
// A first loop finds the maximum of each block. No result is below the count-th largest of these
// maxima, so a second loop reads only the few blocks that reach this bound. In the first loop,
// `values` and `places` hold the largest maxima and the numbers of their blocks.
template <typename T>
void topk(extent rows, extent words, extent count, const T* logits, extent ld, float* values,
          extent* places) {
    const extent block = 64, blocks = (words + block - 1) / block;
    const float never = -std::numeric_limits<float>::infinity();
#pragma omp parallel
    {
        std::vector<float> tops(blocks);
#pragma omp for schedule(static)
        for (extent row = 0; row < rows; ++row) {
            const T* l = logits + row * ld;
            float* value = values + row * count;
            extent* place = places + row * count;
            extent kept = 0;
            auto insert = [&](float x, extent v) {
                extent slot = kept;
                for (; slot > 0 && x > value[slot - 1]; --slot) {
                    if (slot == count) continue;
                    value[slot] = value[slot - 1];
                    place[slot] = place[slot - 1];
                }
                if (slot == count) return;
                value[slot] = x;
                place[slot] = v;
                if (kept < count) ++kept;
            };
            for (extent b = 0; b < blocks; ++b) {
                extent end = (b + 1) * block < words ? (b + 1) * block : words;
                float top = never;
#pragma omp simd reduction(max : top)
                for (extent v = b * block; v < end; ++v) top = wide(l[v]) > top ? wide(l[v]) : top;
                tops[b] = top;
                insert(top, b);
            }
            float bound = kept == count ? value[count - 1] : never;
            kept = 0;
            for (extent b = 0; b < blocks; ++b) {
                if (tops[b] < bound) continue;
                extent end = (b + 1) * block < words ? (b + 1) * block : words;
                for (extent v = b * block; v < end; ++v) {
                    float x = wide(l[v]);
                    if (x >= bound) insert(x, v);
                    else if (bound == never) insert(never, v);  // a NaN is like -inf
                }
            }
        }
    }
}

// One step of a search (operations.py, extend): the `count` likeliest pieces after each row and, with
// the `near` likeliest of these, the `beam` best extensions of each sentence; of equal ones, the
// first comes first. There are at least `beam` extensions.
template <typename T>
void extend(extent rows, extent words, extent count, extent hypotheses, extent near, extent beam,
            T* logits, extent ld, extent bans, const extent* banned, const float* total,
            float* gained, extent* pieces, float* best, extent* from, extent* added) {
    std::vector<float> sums(rows);
    logsumexp(rows, words, logits, ld, sums.data());
    for (extent row = 0; row < rows; ++row)
        for (extent i = 0; i < bans; ++i)
            put(-std::numeric_limits<float>::infinity(), logits + row * ld + banned[i]);
    topk(rows, words, count, logits, ld, gained, pieces);
    for (extent row = 0; row < rows; ++row) {
        const extent sentence = row / hypotheses * beam;
        extent kept = std::min(row % hypotheses * near, beam);  // from the sentence's earlier rows
        for (extent c = 0; c < count; ++c) {
            gained[row * count + c] -= sums[row];
            if (c >= near) continue;
            float value = total[row] + gained[row * count + c];
            extent slot = kept;
            for (; slot > 0 && value > best[sentence + slot - 1]; --slot) {
                if (slot == beam) continue;
                best[sentence + slot] = best[sentence + slot - 1];
                from[sentence + slot] = from[sentence + slot - 1];
                added[sentence + slot] = added[sentence + slot - 1];
            }
            if (slot == beam) continue;
            best[sentence + slot] = value;
            from[sentence + slot] = row;
            added[sentence + slot] = pieces[row * count + c];
            if (kept < beam) ++kept;
        }
    }
}

void additive_scores(extent rows, extent hypotheses, extent positions, extent width,
                     const float* keys, const float* query, const float* vector,
                     const std::uint8_t* mask, float* scores) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < rows; ++b) {
        const float* q = query + b * width;
        float* e = scores + b * positions;
        const extent own = b / hypotheses * positions;
        for (extent s = 0; s < positions; ++s) {
            if (!mask[own + s]) {
                e[s] = -std::numeric_limits<float>::infinity();
                continue;
            }
            const float* k = keys + (own + s) * width;
            float score = 0.0f;
#pragma omp simd reduction(+ : score)
            for (extent a = 0; a < width; ++a) score += vector[a] * tanh(k[a] + q[a]);
            e[s] = score;
        }
    }
}

// One step of a decoder with one layer, a linear readout and no input feeding. With `first` it
// attends before its LSTM moves, else after. Without `vector`, `context` is given. Query and readout
// read the word times `scale`, which undoes the scale of its embedding.
template <typename T>
void step(extent first, extent rows, extent hypotheses, extent positions, extent e, extent h,
          extent m, extent a, const float* word, float scale, const float* hidden,
          const float* before, const T* input_gates, const float* input_bias, const T* state_gates,
          const T* word_query, const T* query, extent ld_query, const float* vector,
          const float* keys, const std::uint8_t* mask, const float* annotations, const T* readout,
          const float* readout_bias, float* context, float* weights, float* new_hidden,
          float* after, float* mixed) {
    std::vector<float> stored(word, word + rows * e), asked(rows * h), compared(rows * a),
        gates(rows * 4 * h), inputs(rows * 4 * h), moved(rows * 4 * h);
    for (float& number : stored) number *= scale;
    const extent entering = first ? m : 0, read = h + m + (first ? e : 0);
    auto attend_with = [&](const float* state) {
        product(rows, h, a, state, query, ld_query, nullptr, nullptr, compared.data());
        additive_scores(rows, hypotheses, positions, a, keys, compared.data(), vector, mask,
                        weights);
        attend(rows, hypotheses, positions, m, weights, annotations, context, context, m);
    };
    if (first && vector) {
        if (word_query)
            product(rows, e, h, stored.data(), word_query, e, nullptr, hidden, asked.data());
        attend_with(word_query ? asked.data() : hidden);
    }
    product(rows, e, 4 * h, word, input_gates, e, input_bias, nullptr, inputs.data());
    product(rows, h, 4 * h, hidden, state_gates + entering, entering + h, nullptr, nullptr,
            moved.data());
    if (first)
        product(rows, m, 4 * h, context, state_gates, m + h, nullptr, moved.data(), moved.data());
    cell(rows, h, inputs.data(), moved.data(), before, gates.data(), after, new_hidden, new_hidden,
         h);
    if (!first && vector) attend_with(new_hidden);
    product(rows, h, e, new_hidden, readout, read, readout_bias, nullptr, mixed);
    product(rows, m, e, context, readout + h, read, nullptr, mixed, mixed);
    if (first) product(rows, e, e, stored.data(), readout + h + m, read, nullptr, mixed, mixed);
}

// Runs `work` for narrow arrays of bfloat16 or of float32.
template <typename Work>
void by_type(extent bf16, Work work) {
    if (bf16) work(bfloat());
    else work(float());
}

}  // namespace

extern "C" {

void seq2seq_cell(extent bf16, extent batch, extent width, const void* inputs, const void* product,
                  const float* before, float* gates, float* after, float* hidden, void* narrow,
                  extent ld_narrow) {
    by_type(bf16, [&](auto one) {
        using T = decltype(one);
        cell(batch, width, static_cast<const T*>(inputs), static_cast<const T*>(product), before,
             gates, after, hidden, static_cast<T*>(narrow), ld_narrow);
    });
}

void seq2seq_cell_backward(extent bf16, extent batch, extent width, const float* gates,
                           const float* before, const float* after, const float* d_hidden,
                           float* d_cell, void* d_gates) {
    by_type(bf16, [&](auto one) {
        cell_backward(batch, width, gates, before, after, d_hidden, d_cell,
                      static_cast<decltype(one)*>(d_gates));
    });
}

void seq2seq_attend(extent bf16, extent rows, extent hypotheses, extent positions, extent width,
                    float* weights, const float* memory, float* context, void* narrow,
                    extent ld_narrow) {
    by_type(bf16, [&](auto one) {
        attend(rows, hypotheses, positions, width, weights, memory, context,
               static_cast<decltype(one)*>(narrow), ld_narrow);
    });
}

void seq2seq_attend_backward(extent batch, extent positions, extent width, const float* d_context,
                             const float* weights, const float* memory, float* d_scores) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < batch; ++b) {
        const float *dc = d_context + b * width, *w = weights + b * positions;
        float *d = d_scores + b * positions, mean = 0.0f;
        for (extent s = 0; s < positions; ++s) {
            d[s] = 0.0f;
            if (w[s] == 0.0f) continue;
            const float* h = memory + (b * positions + s) * width;
            float product = 0.0f;
#pragma omp simd reduction(+ : product)
            for (extent m = 0; m < width; ++m) product += dc[m] * h[m];
            d[s] = product;
            mean += w[s] * product;
        }
        for (extent s = 0; s < positions; ++s) d[s] = w[s] * (d[s] - mean);
    }
}

void seq2seq_additive_scores(extent rows, extent hypotheses, extent positions, extent width,
                             const float* keys, const float* query, const float* vector,
                             const std::uint8_t* mask, float* scores) {
    additive_scores(rows, hypotheses, positions, width, keys, query, vector, mask, scores);
}

void seq2seq_additive_scores_backward(extent batch, extent positions, extent width, const float* keys,
                                      const float* query, const float* vector,
                                      const float* d_scores, float* d_query, float* d_keys,
                                      float* d_vector) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < batch; ++b) {
        const float* q = query + b * width;
        float *dq = d_query + b * width, *dv = d_vector + b * width;
        for (extent a = 0; a < width; ++a) dq[a] = 0.0f;
        for (extent s = 0; s < positions; ++s) {
            extent row = b * positions + s;
            float d = d_scores[row];
            if (d == 0.0f) continue;
            const float* k = keys + row * width;
            float* dk = d_keys + row * width;
#pragma omp simd
            for (extent a = 0; a < width; ++a) {
                float p = tanh(k[a] + q[a]);
                float slope = d * (1.0f - p * p);
                dv[a] += d * p;
                dq[a] += slope;
                dk[a] += slope;
            }
        }
#pragma omp simd
        for (extent a = 0; a < width; ++a) dq[a] *= vector[a];
    }
}

void seq2seq_softmax_loss(extent bf16, extent rows, extent words, void* logits, const float* bias,
                          const extent* targets, float smoothing, float scale, extent wanted,
                          double* sums, float* d_bias, extent threads) {
    by_type(bf16, [&](auto one) {
        softmax_loss(rows, words, static_cast<decltype(one)*>(logits), bias, targets, smoothing,
                     scale, wanted, sums, d_bias, threads);
    });
}

void seq2seq_extend(extent bf16, extent rows, extent words, extent count, extent hypotheses,
                    extent near, extent beam, void* logits, extent ld, extent bans,
                    const extent* banned, const float* total, float* gained, extent* pieces,
                    float* best, extent* from, extent* added) {
    by_type(bf16, [&](auto one) {
        extend(rows, words, count, hypotheses, near, beam, static_cast<decltype(one)*>(logits), ld, bans,
               banned, total, gained, pieces, best, from, added);
    });
}

void seq2seq_product(extent bf16, extent rows, extent words, extent width, const float* x,
                     const void* weight, extent ld, const float* bias, float* y) {
    by_type(bf16, [&](auto one) {
        product(rows, width, words, x, static_cast<const decltype(one)*>(weight), ld, bias, nullptr,
                y);
    });
}

void seq2seq_step(extent bf16, extent first, extent rows, extent hypotheses, extent positions,
                  extent e, extent h, extent m, extent a, const float* word, float scale,
                  const float* hidden, const float* before, const void* input_gates,
                  const float* input_bias, const void* state_gates, const void* word_query,
                  const void* query, extent ld_query, const float* vector, const float* keys,
                  const std::uint8_t* mask, const float* annotations, const void* readout,
                  const float* readout_bias, float* context, float* weights, float* new_hidden,
                  float* after, float* mixed) {
    by_type(bf16, [&](auto one) {
        using T = decltype(one);
        auto typed = [](const void* matrix) { return static_cast<const T*>(matrix); };
        step(first, rows, hypotheses, positions, e, h, m, a, word, scale, hidden, before,
             typed(input_gates), input_bias, typed(state_gates), typed(word_query), typed(query),
             ld_query, vector, keys, mask, annotations, typed(readout), readout_bias, context,
             weights, new_hidden, after, mixed);
    });
}

}  // extern "C"
