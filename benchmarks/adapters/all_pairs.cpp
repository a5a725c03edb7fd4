// The exact Jaccard self-join by AllPairs (Bayardo, Ma, Srikant 2007) and by PPJoin (Xiao, Wang, Lin, Yu 2008), which
// also filters by position, implemented from the papers on one thread. Sets are in order of size, their tokens in order
// of rarity.
//
// all_pairs SETS NUMERATOR DENOMINATOR REPEATS prints a line per algorithm: name, least and median milliseconds, pairs.
// SETS holds int64 sets, int64 elements, int64 offsets[sets + 1], uint32 tokens[elements].
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

using u32 = uint32_t;

struct Sets {
  std::vector<int64_t> at;
  std::vector<u32> tokens;
  u32 distinct = 0;
  size_t count() const { return at.size() - 1; }
  int size(size_t i) const { return int(at[i + 1] - at[i]); }
};

static Sets read_sets(const char *path) {
  int64_t sizes[2];
  Sets sets;
  FILE *file = fopen(path, "rb");
  if (!file || fread(sizes, 8, 2, file) != 2) exit(1);
  sets.at.resize(sizes[0] + 1);
  sets.tokens.resize(sizes[1]);
  if (fread(sets.at.data(), 8, sets.at.size(), file) != sets.at.size()) exit(1);
  if (fread(sets.tokens.data(), 4, sets.tokens.size(), file) != sets.tokens.size()) exit(1);
  fclose(file);
  for (u32 token : sets.tokens) sets.distinct = std::max(sets.distinct, token + 1);
  return sets;
}

struct Posting { u32 set; int size; int place; };
struct List { std::vector<Posting> postings; size_t start = 0; };
struct Met { int shared = 0; int mine = 0; int theirs = 0; };  // tokens shared so far, and where the last of them is
const int RULED_OUT = -(1 << 30);

static int divide_up(int64_t a, int64_t b) { return int((a + b - 1) / b); }

template <bool by_position>
static std::vector<std::pair<u32, u32>> join(const Sets &sets, int num, int den) {
  std::vector<std::pair<u32, u32>> found;
  std::vector<List> index(sets.distinct);
  std::vector<Met> met(sets.count());
  std::vector<u32> candidates;
  std::vector<int> needed;
  for (size_t i = 0; i < sets.count(); i++) {
    const u32 *x = &sets.tokens[sets.at[i]];
    const int size = sets.size(i), least = divide_up(int64_t(num) * size, den);
    if (i == 0 || size != sets.size(i - 1)) {
      needed.resize(size + 1);
      for (int other = 0; other <= size; other++) needed[other] = divide_up(int64_t(num) * (size + other), num + den);
    }
    candidates.clear();
    for (int place = 0; place < size - least + 1; place++) {
      List &list = index[x[place]];
      while (list.start < list.postings.size() && list.postings[list.start].size < least) list.start++;
      for (size_t k = list.start; k < list.postings.size(); k++) {
        const Posting &one = list.postings[k];
        Met &pair = met[one.set];
        if (pair.shared == 0) candidates.push_back(one.set);
        if (by_position && pair.shared + std::min(size - place, one.size - one.place) < needed[one.size]) {
          pair.shared = RULED_OUT;
          continue;
        }
        pair.shared++;
        pair.mine = place;
        pair.theirs = one.place;
      }
    }
    for (u32 other : candidates) {
      const Met pair = met[other];
      met[other].shared = 0;
      if (pair.shared < 0) continue;
      const u32 *y = &sets.tokens[sets.at[other]];
      const int length = sets.size(other), need = needed[length];
      int shared = pair.shared, a = pair.mine + 1, b = pair.theirs + 1;
      while (a < size && b < length && shared + std::min(size - a, length - b) >= need) {
        if (x[a] == y[b]) shared++, a++, b++;
        else if (x[a] < y[b]) a++;
        else b++;
      }
      if (shared >= need) found.push_back({other, u32(i)});
    }
    const int indexed = size - divide_up(int64_t(2) * num * size, num + den) + 1;
    for (int place = 0; place < indexed; place++) index[x[place]].postings.push_back({u32(i), size, place});
  }
  return found;
}

template <bool by_position>
static void measure(const char *name, const Sets &sets, int num, int den, int repeats) {
  std::vector<double> took;
  size_t pairs = 0;
  for (int k = 0; k < repeats; k++) {
    const auto start = std::chrono::steady_clock::now();
    pairs = join<by_position>(sets, num, den).size();
    took.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(took.begin(), took.end());
  printf("%s %.3f %.3f %zu\n", name, took[0], took[took.size() / 2], pairs);
}

int main(int count, char **given) {
  if (count != 5) return 2;
  const Sets sets = read_sets(given[1]);
  measure<false>("AllPairs", sets, atoi(given[2]), atoi(given[3]), atoi(given[4]));
  measure<true>("PPJoin", sets, atoi(given[2]), atoi(given[3]), atoi(given[4]));
}
