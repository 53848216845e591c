// SPDX-License-Identifier: MIT
//
// leaky.cpp -- a small program with a memory leak, to try seep on.
//
// It reads a web server's log (made up, always the same), keeps the newest sessions in a cache,
// and prints who visited most.  What it does with memory:
//
//   the cache      is bounded and emptied at the end: fine
//   the log        is loaded as a whole before it is parsed: that is the peak
//   the parsing    makes short-lived strings: temporary allocations
//   the traces     of failed requests are forgotten when a session leaves the cache: the leak
//
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

struct Request {
        std::string client, path;
        int status = 0;
};

// What happened during a request that went wrong.
struct Trace {
        int status;
        std::string path;
        char note[200];
};

struct Session {
        std::string client;
        std::vector<std::string> visited;
        Trace *trace = nullptr;
};

class SessionCache {
public:
        explicit SessionCache(size_t limit) : limit_(limit) {}

        Session &touch(const std::string &client)
        {
                auto found = index_.find(client);
                if (found != index_.end()) {
                        sessions_.splice(sessions_.begin(), sessions_, found->second);
                        return sessions_.front();
                }
                if (sessions_.size() == limit_)
                        drop_oldest();
                sessions_.emplace_front();
                sessions_.front().client = client;
                index_[client] = sessions_.begin();
                return sessions_.front();
        }

        void clear()
        {
                while (!sessions_.empty()) {
                        delete sessions_.front().trace;
                        sessions_.pop_front();
                }
                index_.clear();
        }

private:
        void drop_oldest()
        {
                index_.erase(sessions_.back().client);
                sessions_.pop_back(); // and its trace? clear() thinks of it, this line does not
        }

        size_t limit_;
        std::list<Session> sessions_;
        std::unordered_map<std::string, std::list<Session>::iterator> index_;
};

static uint32_t next_random(uint32_t &state)
{
        state = state * 1664525u + 1013904223u;
        return state >> 8;
}

static std::vector<std::string> load_log(size_t lines)
{
        static const char *const paths[] = { "/", "/login", "/search?q=memory", "/basket", "/images/large-picture.jpeg" };
        std::vector<std::string> log;
        uint32_t random = 42;

        for (size_t i = 0; i < lines; i++) {
                uint32_t client = next_random(random) % 5000, path = next_random(random) % 5;
                int status = next_random(random) % 20 ? 200 : 500;
                char line[160];

                snprintf(line, sizeof line, "10.0.%u.%u - [15/Nov/2026:04:42:%02zu] \"GET %s HTTP/1.1\" %d", client >> 8,
                         client & 255, i % 60, paths[path], status);
                log.push_back(line);
        }
        return log;
}

static Request parse_line(const std::string &line)
{
        Request request;
        size_t quote = line.find('"'), end = line.rfind('"');
        std::string quoted = line.substr(quote + 1, end - quote - 1);
        size_t first = quoted.find(' '), last = quoted.rfind(' ');

        request.client = line.substr(0, line.find(' '));
        request.path = quoted.substr(first + 1, last - first - 1);
        request.status = std::stoi(line.substr(end + 2));
        return request;
}

static void remember_failure(Session &session, const Request &request)
{
        if (!session.trace)
                session.trace = new Trace{ request.status, request.path, "" };
        snprintf(session.trace->note, sizeof session.trace->note, "status %d for %s", request.status, request.client.c_str());
}

static size_t count_visits(const std::vector<std::string> &log, SessionCache &cache, std::map<std::string, size_t> &visits)
{
        size_t failures = 0;

        for (const std::string &line : log) {
                Request request = parse_line(line);
                Session &session = cache.touch(request.client);

                session.visited.push_back(request.path);
                visits[request.path]++;
                if (request.status >= 500) {
                        remember_failure(session, request);
                        failures++;
                }
        }
        return failures;
}

int main()
{
        SessionCache cache(500);
        std::map<std::string, size_t> visits;
        size_t failures;

        {
                std::vector<std::string> log = load_log(60000);
                failures = count_visits(log, cache, visits);
        }
        for (const auto &entry : visits)
                printf("%6zu  %s\n", entry.second, entry.first.c_str());
        printf("%6zu  failed\n", failures);
        cache.clear();
        return 0;
}
