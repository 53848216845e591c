// SPDX-License-Identifier: MIT
//
// shop.cpp -- a web shop that plays by itself, to look at with `seep html` and `seep top`.
// usage: shop [SECONDS]
//
// Workers answer made-up requests, a clerk writes a sales report.  What it does with memory:
//
//   the catalogue   is loaded at the start and used until the end: fine
//   the pictures    are kept in a cache that is bounded: fine
//   the report      is put together as one text: that is the peak
//   the pages       are made of short-lived strings: temporary allocations
//   the visitors    are never forgotten: it grows, although everything is still held
//   the baskets     of those who order anew are replaced, and not deleted: the leak
//
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <pthread.h>
#include <seep.h>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

using Bytes = std::vector<unsigned char>;

struct Product {
        std::string name, description;
        int price;
};

struct Basket {
        std::vector<int> products;
        char note[160] = "";
};

struct Visitor {
        std::string name;
        std::vector<std::string> seen;
        Basket *basket = nullptr;
};

class Random {
public:
        explicit Random(uint32_t seed) : state_(seed) {}
        uint32_t below(uint32_t limit)
        {
                state_ = state_ * 1664525u + 1013904223u;
                return (state_ >> 8) % limit;
        }

private:
        uint32_t state_;
};

class Catalogue {
public:
        void load(int count)
        {
                for (int i = 0; i < count; i++)
                        add({ "article " + std::to_string(i), "as good as article " + std::to_string(i * 7 % count), 100 + i % 900 });
        }
        const Product &at(size_t i) const { return products_[i]; }
        size_t size() const { return products_.size(); }
        const std::vector<int> &search(const std::string &word) { return words_[word]; }

private:
        void add(Product product)
        {
                index_words(product.name, (int)products_.size());
                index_words(product.description, (int)products_.size());
                products_.push_back(std::move(product));
        }
        void index_words(const std::string &text, int product)
        {
                for (size_t from = 0, to; from < text.size(); from = to + 1) {
                        to = std::min(text.find(' ', from), text.size());
                        words_[text.substr(from, to - from)].push_back(product);
                }
        }

        std::vector<Product> products_;
        std::unordered_map<std::string, std::vector<int>> words_;
};

class Pictures {
public:
        const Bytes &get(int product)
        {
                auto found = kept_.find(product);
                if (found != kept_.end())
                        return found->second;
                if (order_.size() == LIMIT) {
                        kept_.erase(order_.front());
                        order_.pop_front();
                }
                order_.push_back(product);
                return kept_[product] = decode(product);
        }

private:
        static constexpr size_t LIMIT = 300;

        static Bytes decode(int product)
        {
                Bytes packed(4000, (unsigned char)product);
                return Bytes(packed.size() * (3 + (size_t)product % 5));
        }

        std::map<int, Bytes> kept_;
        std::deque<int> order_;
};

class Shop {
public:
        void open() { catalogue_.load(8000); }

        size_t answer(Random &random)
        {
                std::lock_guard<std::mutex> one_at_a_time(mutex_);
                Visitor &visitor = greet("visitor-" + std::to_string(random.below(1u << 16) & random.below(1u << 16)));

                switch (random.below(8)) {
                case 0:
                        return order(visitor, random);
                case 1:
                case 2:
                        return results_page("article", random).size();
                default:
                        return product_page(visitor, (int)random.below((uint32_t)catalogue_.size())).size();
                }
        }

        size_t sales_report()
        {
                std::lock_guard<std::mutex> one_at_a_time(mutex_);
                std::vector<std::string> lines = report_lines();
                return joined(lines).size();
        }

private:
        Visitor &greet(const std::string &name)
        {
                Visitor &visitor = visitors_[name];
                visitor.name = name;
                return visitor;
        }

        size_t order(Visitor &visitor, Random &random)
        {
                visitor.basket = new Basket; // and the one of the last order?
                for (uint32_t n = 1 + random.below(5); n; n--)
                        visitor.basket->products.push_back((int)random.below((uint32_t)catalogue_.size()));
                return visitor.basket->products.size();
        }

        std::string product_page(Visitor &visitor, int product)
        {
                const Product &p = catalogue_.at((size_t)product);
                visitor.seen.push_back(p.name);
                return framed("<h2>" + p.name + "</h2><p>" + p.description + "</p>" + picture(product));
        }

        std::string results_page(const std::string &word, Random &random)
        {
                const std::vector<int> &found = catalogue_.search(word);
                std::string rows;
                for (size_t i = random.below(1000), end = i + 20; i < end; i++)
                        rows += "<li>" + catalogue_.at((size_t)found[i]).name + "</li>";
                return framed("<ul>" + rows + "</ul>");
        }

        std::string picture(int product) { return "<img width=" + std::to_string(pictures_.get(product).size() / 100) + ">"; }
        static std::string framed(const std::string &body) { return "<html><body>" + body + "</body></html>"; }

        std::vector<std::string> report_lines()
        {
                std::vector<std::string> lines;
                for (int day = 0; day < 6; day++)
                        for (size_t i = 0; i < catalogue_.size(); i++)
                                lines.push_back(std::to_string(day) + ";" + catalogue_.at(i).name + ";" + std::to_string(catalogue_.at(i).price) + ";sold;0");
                return lines;
        }

        static std::string joined(const std::vector<std::string> &lines)
        {
                std::string text;
                for (const std::string &line : lines)
                        text += line + "\n";
                return text;
        }

        std::mutex mutex_;
        Catalogue catalogue_;
        Pictures pictures_;
        std::unordered_map<std::string, Visitor> visitors_;
};

static Shop &shop = *new Shop; // in use until the end
static std::atomic<bool> closing;

static void sleep_ms(unsigned ms)
{
        usleep(ms * 1000);
}

static void *work(void *number)
{
        Random random(*static_cast<uint32_t *>(number));

        while (!closing) {
                for (int i = 0; i < 8; i++)
                        shop.answer(random);
                sleep_ms(3);
        }
        return nullptr;
}

static void *report(void *)
{
        for (int tick = 1; !closing; tick++) {
                sleep_ms(100);
                if (tick % 15 == 0)
                        shop.sales_report();
        }
        return nullptr;
}

static pthread_t hire(const char *name, void *(*job)(void *), void *argument)
{
        pthread_t thread;

        if (pthread_create(&thread, nullptr, job, argument))
                abort();
        pthread_setname_np(thread, name);
        return thread;
}

int main(int argc, char **argv)
{
        unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
        uint32_t numbers[] = { 1, 2, 3 };
        std::vector<pthread_t> staff;

        shop.open();
        SEEP_TAG("open");
        staff.push_back(hire("clerk", report, nullptr));
        for (uint32_t &number : numbers)
                staff.push_back(hire(("worker-" + std::to_string(number)).c_str(), work, &number));
        sleep_ms(seconds * 1000);
        SEEP_TAG("closing");
        closing = true;
        for (pthread_t one : staff)
                pthread_join(one, nullptr);
        return 0;
}
