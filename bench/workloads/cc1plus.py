# SPDX-License-Identifier: MIT
"""cc1plus.py -- the C++ compiler proper on one large translation unit: most of the standard
library, many templates.

The source is preprocessed once; the measured run is cc1plus alone, without driver and assembler.
"""
import subprocess

from harness import place
from .workload import Command, long_and_short

HEADERS = """algorithm any array bitset chrono complex deque filesystem forward_list fstream
functional future iomanip
iostream iterator limits list locale map memory memory_resource mutex numeric optional ostream
queue random ratio regex
set shared_mutex sstream stack stdexcept streambuf string string_view system_error thread tuple
type_traits typeindex
unordered_map unordered_set utility valarray variant vector""".split()

RECORDS = 1
SMALL_FUNCTIONS = 380
SHORT_HEADERS = ["string", "vector"]
SHORT_FUNCTIONS = 60

RECORD = """
struct Record@ {
    std::string name; std::vector<int> values; std::map<std::string, double> weights; long key@;
    bool operator<(const Record@ &o) const {
        return std::tie(key@, name) < std::tie(o.key@, o.name); }
    bool operator==(const Record@ &o) const { return key@ == o.key@ && name == o.name; }
};
struct Hash@ { size_t operator()(const Record@ &r) const {
    return std::hash<std::string>()(r.name) * @ + r.key@; } };
using Shape@ = std::variant<int, std::string, Record@, std::pair<Record@, std::array<char, @ + 1>>>;

std::map<Record@, std::set<Record@>> group@(const std::vector<Record@> &in)
{
    std::map<Record@, std::set<Record@>> out;
    std::unordered_map<Record@, std::deque<Record@>, Hash@> seen;
    for (const auto &r : in) { seen[r].push_back(r); out[r].insert(r); }
    for (auto &[k, v] : seen) { std::stable_sort(v.begin(), v.end());
        out[k].insert(v.begin(), v.end()); }
    return out;
}

std::string text@(const Shape@ &s)
{
    std::ostringstream os;
    std::visit([&os](const auto &v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int> || std::is_same_v<T,
            std::string>) os << v << std::setw(@ + 2) << '.';
        else if constexpr (std::is_same_v<T, Record@>) os << v.name << v.values.size();
        else os << v.first.name << v.second.size();
    }, s);
    return os.str();
}

std::function<std::optional<double>(const std::string &)> finder@(std::shared_ptr<Record@> r)
{
    return [r](const std::string &k) -> std::optional<double> {
        auto at = r->weights.find(k);
        if (at == r->weights.end()) return std::nullopt;
        std::list<double> tail(r->values.begin(), r->values.end());
        tail.sort(std::greater<>()); tail.unique();
        return std::accumulate(tail.begin(), tail.end(), at->second, std::plus<>());
    };
}
"""

# Every function costs the optimiser its fixed share of tables, whatever its size.
SMALL = """
template <int N> struct Small@ { int pick(const std::vector<int> &v) const {
    return v.size() > N ? v[N] : Small@<N - 1>().pick(v) + @; } };
template <> struct Small@<0> { int pick(const std::vector<int> &v) const {
    return v.empty() ? @ : v[0]; } };
int small@(std::vector<int> &v, int x) { v.push_back(x * @); return Small@<5>().pick(v); }
"""


def _make(path, headers, records, functions):
    source = "".join(f"#include <{name}>\n" for name in headers)
    source += "".join(RECORD.replace("@", str(number)) for number in range(1, records + 1))
    source += "".join(SMALL.replace("@", str(number)) for number in range(1, functions + 1))
    subprocess.run(
        [place.need("g++"), "-std=c++17", "-E", "-x", "c++", "-", "-o", str(path)],
        input=source.encode(),
        check=True,
    )


def _compiler():
    found = subprocess.run(
        [place.need("g++"), "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    )
    return place.need(found.stdout.strip())


def _command(short):
    if short:
        source = place.cached(
            "unit-short.ii", lambda path: _make(path, SHORT_HEADERS, 0, SHORT_FUNCTIONS)
        )
    else:
        source = place.cached(
            "unit.ii", lambda path: _make(path, HEADERS, RECORDS, SMALL_FUNCTIONS)
        )
    return Command(
        [_compiler(), "-quiet", "-fpreprocessed", "-std=c++17", "-O1", str(source), "-o", "unit.s"],
        product="unit.s",
    )


WORKLOADS = long_and_short(
    "cc1plus", "the C++ compiler, -O1, most of libstdc++ and many templates", _command, 1.25
)
