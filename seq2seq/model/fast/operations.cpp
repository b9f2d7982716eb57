// The operations of operations.py for a CPU, in float32, without intermediate arrays.
//
// cpp.py builds this file with the machine's own compiler, and calls its functions as plain C. The
// file needs no PyTorch headers. Arrays are dense unless a stride ("ld", in elements, from one row
// to the next) is given. Narrow arrays hold float32 or bfloat16: `bytes` says which. Rows are
// divided among OpenMP threads statically and each sum is taken in one order, so equal inputs and
// thread counts give equal bits.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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
void attend(extent rows, extent sentences, extent positions, extent width, float* weights,
            const float* memory, float* context, T* narrow, extent ld_narrow) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < rows; ++b) {
        float* w = weights + b * positions;
        const float* own = memory + b * sentences / rows * positions * width;
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

// The `count` likeliest words of each row, the first of equal ones first, and their log-probabilities.
// Banned words count only in the softmax's sum. Of the blocks of a row, only those are read word by
// word whose maximum exceeds the least number found so far.
template <typename T>
void likeliest(extent rows, extent words, extent count, T* logits, extent ld, extent bans,
               const extent* banned, float* gained, extent* pieces) {
    const extent block = 64;
    const float never = -std::numeric_limits<float>::infinity();
#pragma omp parallel for schedule(static)
    for (extent row = 0; row < rows; ++row) {
        T* l = logits + row * ld;
        float *value = gained + row * count, top = never, sum = 0.0f;
        extent *piece = pieces + row * count, kept = 0;
#pragma omp simd reduction(max : top)
        for (extent v = 0; v < words; ++v) top = wide(l[v]) > top ? wide(l[v]) : top;
#pragma omp simd reduction(+ : sum)
        for (extent v = 0; v < words; ++v) sum += exponential(wide(l[v]) - top);
        const float log_sum = top + std::log(sum);
        for (extent i = 0; i < bans; ++i) put(never, l + banned[i]);
        for (extent first = 0; first < words; first += block) {
            extent end = std::min(first + block, words);
            float largest = never;
#pragma omp simd reduction(max : largest)
            for (extent v = first; v < end; ++v)
                largest = wide(l[v]) > largest ? wide(l[v]) : largest;
            if (kept == count && !(largest > value[count - 1])) continue;
            for (extent v = first; v < end; ++v) {
                float x = wide(l[v]) > never ? wide(l[v]) : never;  // a NaN is like -inf
                if (kept == count && !(x > value[count - 1])) continue;
                extent slot = kept < count ? kept++ : count - 1;
                for (; slot > 0 && x > value[slot - 1]; --slot) {
                    value[slot] = value[slot - 1];
                    piece[slot] = piece[slot - 1];
                }
                value[slot] = x;
                piece[slot] = v;
            }
        }
        for (extent i = 0; i < count; ++i) value[i] -= log_sum;
    }
}

// Runs `work` for narrow arrays of bfloat16 or of float32.
template <typename Work>
void by_type(extent bytes, Work work) {
    if (bytes == sizeof(bfloat)) work(bfloat());
    else work(float());
}

}  // namespace

extern "C" {

void seq2seq_cell(extent bytes, extent batch, extent width, const void* inputs, const void* product,
                  const float* before, float* gates, float* after, float* hidden, void* narrow,
                  extent ld_narrow) {
    by_type(bytes, [&](auto one) {
        using T = decltype(one);
        cell(batch, width, static_cast<const T*>(inputs), static_cast<const T*>(product), before,
             gates, after, hidden, static_cast<T*>(narrow), ld_narrow);
    });
}

void seq2seq_cell_backward(extent bytes, extent batch, extent width, const float* gates,
                           const float* before, const float* after, const float* d_hidden,
                           float* d_cell, void* d_gates) {
    by_type(bytes, [&](auto one) {
        cell_backward(batch, width, gates, before, after, d_hidden, d_cell,
                      static_cast<decltype(one)*>(d_gates));
    });
}

void seq2seq_attend(extent bytes, extent rows, extent sentences, extent positions, extent width,
                    float* weights, const float* memory, float* context, void* narrow,
                    extent ld_narrow) {
    by_type(bytes, [&](auto one) {
        attend(rows, sentences, positions, width, weights, memory, context,
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

void seq2seq_additive_scores(extent rows, extent sentences, extent positions, extent width,
                             const float* keys, const float* query, const float* vector,
                             const std::uint8_t* mask, float* scores) {
#pragma omp parallel for schedule(static)
    for (extent b = 0; b < rows; ++b) {
        const float* q = query + b * width;
        float* e = scores + b * positions;
        const extent own = b * sentences / rows * positions;
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

void seq2seq_softmax_loss(extent bytes, extent rows, extent words, void* logits, const float* bias,
                          const extent* targets, float smoothing, float scale, extent wanted,
                          double* sums, float* d_bias, extent threads) {
    by_type(bytes, [&](auto one) {
        softmax_loss(rows, words, static_cast<decltype(one)*>(logits), bias, targets, smoothing,
                     scale, wanted, sums, d_bias, threads);
    });
}

void seq2seq_likeliest(extent bytes, extent rows, extent words, extent count, void* logits, extent ld,
                       extent bans, const extent* banned, float* gained, extent* pieces) {
    by_type(bytes, [&](auto one) {
        likeliest(rows, words, count, static_cast<decltype(one)*>(logits), ld, bans, banned, gained,
                  pieces);
    });
}

}  // extern "C"
