/* SPDX-License-Identifier: MIT */
/*
 * svg.c -- a flame graph as one SVG picture, which a browser can zoom and search.
 *
 * Keeps:  the outermost functions are at the top, the heaviest of those that one calls at the left.
 *         Positions are in millionths of the width, so that the script can enlarge without loss.
 * Cost:   what is narrower than a tenth of a pixel is left out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/table.h"
#include "base/xml.h"
#include "export/export.h"
#include "export/stack_costs.h"
#include "query/fold.h"
#include "words/label.h"
#include "words/shorten.h"
#include "words/text.h"

enum { SVG_WIDTH = 1200, SVG_ROW = 18, SVG_TOP = 56, SVG_SIDE = 10, SVG_BOTTOM = 10 };
enum { SVG_LETTER = 7 };
enum { SVG_INNER = SVG_WIDTH - 2 * SVG_SIDE, SVG_SHORTEST = 3 };
#define SVG_SCALE 1000000.0
#define SVG_LEAST (0.1 / SVG_INNER)

/* A node of the tree as a box. */
struct svg_box {
        uint64_t cost;
        double left; /* parts of the whole width */
        uint32_t depth;
};

/* A child of PARENT, for the order from left to right. */
struct svg_child {
        uint64_t cost;
        uint32_t parent, node;
};

struct svg {
        const struct stack_costs *s;
        enum cost_kind cost;
        struct svg_box *boxes; /* by node */
        struct str *out;
};

static int svg_compare(const void *a, const void *b)
{
        const struct svg_child *x = a, *y = b;

        return ORDER(x->parent, y->parent) ?: ORDER(y->cost, x->cost) ?: ORDER(x->node, y->node);
}

/* A parent's number is smaller than its child's.  Returns how many stacks became less. */
static uint32_t svg_sums(struct svg *v)
{
        uint32_t negative = 0;

        for (uint32_t i = 0; i < v->s->sample_count; i++) {
                int64_t value = (int64_t)v->s->samples[i].costs.of[v->cost];

                negative += value < 0;
                if (value > 0)
                        v->boxes[v->s->samples[i].node].cost += (uint64_t)value;
        }
        for (uint32_t i = v->s->node_count; i-- > 1;)
                v->boxes[v->s->nodes[i].parent].cost += v->boxes[i].cost;
        return negative;
}

static double svg_share(const struct svg *v, uint64_t cost)
{
        return v->boxes[0].cost ? (double)cost / (double)v->boxes[0].cost : 0;
}

/* Where boxes are; returns the greatest depth of those that are seen. */
static uint32_t svg_place(struct svg *v)
{
        uint32_t count = v->s->node_count, deepest = 0, parent = 0;
        struct svg_child *children = heap_zero(count, sizeof *children);
        double left = 0;

        for (uint32_t i = 1; i < count; i++)
                children[i] = (struct svg_child){ v->boxes[i].cost, v->s->nodes[i].parent, i };
        qsort(children + 1, count - 1, sizeof *children, svg_compare);
        for (uint32_t i = 1; i < count; i++) {
                struct svg_box *box = &v->boxes[children[i].node];

                if (children[i].parent != parent || i == 1) {
                        parent = children[i].parent;
                        left = v->boxes[parent].left;
                }
                box->left = left;
                box->depth = v->boxes[parent].depth + 1;
                left += svg_share(v, box->cost);
                if (svg_share(v, box->cost) >= SVG_LEAST && box->depth > deepest)
                        deepest = box->depth;
        }
        free(children);
        return deepest;
}

/* Warm colours for the program's own functions, the same for the same name; others are pale. */
static void svg_color(const struct svg *v, const struct calltree_frame *frame, const char *name)
{
        uint32_t hash = table_hash_text(name);

        if (frame->node > 1 &&
            fold_kind_of(v->s->profile, frame->node, frame->names) != FOLD_OWN)
                str_text(v->out, " fill=\"#e3e0d8\"");
        else
                str_format(v->out, " fill=\"#%02x%02x%02x\"", 215 + hash % 40,
                           110 + hash / 40 % 100, 60 + hash / 4000 % 50);
}

static void svg_amount(const struct svg *v, uint64_t cost, struct str *out)
{
        if (cost_names[v->cost].unit[0] == 'b')
                text_size(out, (int64_t)cost);
        else
                text_number(out, (int64_t)cost);
}

/* "main leaky.cpp:148", "6.7 MiB, 87 %": what a browser shows beside the pointer. */
static void svg_title(const struct svg *v, const char *name, const struct symbol_frame *names,
                      uint64_t cost)
{
        struct str text = { 0 };

        str_text(&text, name);
        if (names && names->file)
                str_format(&text, " [%s]", names->file);
        str_char(&text, '\n');
        svg_amount(v, cost, &text);
        str_text(&text, ", ");
        text_share(&text, (double)cost, (double)v->boxes[0].cost);
        str_text(v->out, "<title>");
        xml_text(v->out, str_get(&text));
        str_text(v->out, "</title>");
        str_free(&text);
}

static void svg_label(struct svg *v, const struct svg_box *box, double y, const char *name)
{
        size_t letters = (size_t)(svg_share(v, box->cost) * SVG_INNER - 4) / SVG_LETTER;
        struct str text = { 0 };

        str_text(&text, name);
        if (svg_share(v, box->cost) * SVG_INNER < SVG_SHORTEST * SVG_LETTER + 4)
                str_clear(&text);
        else
                shorten_name(&text, letters);
        if (text.length > letters)
                str_clear(&text);
        str_format(v->out, "<text x=\"%.1f\" y=\"%.1f\">", SVG_SIDE + box->left * SVG_INNER + 3,
                   y + SVG_ROW - 6);
        xml_text(v->out, str_get(&text));
        str_text(v->out, "</text>");
        str_free(&text);
}

/* Node 0 is the whole. */
static void svg_box(struct svg *v, uint32_t node, const char *whole)
{
        const struct svg_box *box = &v->boxes[node];
        const struct calltree_frame *frame = node ? &v->s->frames[v->s->nodes[node].frame] : NULL;
        double y = SVG_TOP + (double)box->depth * SVG_ROW, share = svg_share(v, box->cost);
        struct str name = { 0 };

        if (node && share < SVG_LEAST)
                return;
        if (frame)
                stack_costs_plain_name(v->s, v->s->nodes[node].frame, "", ' ', &name);
        else
                str_text(&name, whole);
        str_format(v->out, "<g class=\"f\" data-x=\"%.0f\" data-w=\"%.0f\" data-d=\"%" PRIu32 "\"",
                   box->left * SVG_SCALE, share * SVG_SCALE, box->depth);
        xml_attribute(v->out, "data-n", str_get(&name));
        str_char(v->out, '>');
        svg_title(v, str_get(&name), frame ? frame->names : NULL, box->cost);
        str_format(v->out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"",
                   SVG_SIDE + box->left * SVG_INNER, y, share * SVG_INNER, SVG_ROW - 1);
        if (frame)
                svg_color(v, frame, str_get(&name));
        else
                str_text(v->out, " fill=\"#cfd8dc\"");
        str_text(v->out, "/>");
        svg_label(v, box, y, str_get(&name));
        str_text(v->out, "</g>\n");
        str_drain(v->out);
        str_free(&name);
}

/* Enlarges by a click, marks by a search; without it the picture is as it stands. */
static const char svg_script[] =
        "<script><![CDATA[\n"
        "(function () {\n"
        "  var all = Array.prototype.slice.call(document.querySelectorAll('g.f')),\n"
        "    found = document.getElementById('found'), INNER = %d, SIDE = %d, LETTER = %d;\n"
        "  function number(g, name) { return Number(g.getAttribute('data-' + name)); }\n"
        "  function label(g, width) {\n"
        "    var name = g.getAttribute('data-n'), room = Math.floor((width - 4) / LETTER);\n"
        "    return room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 2) + '..';\n"
        "  }\n"
        "  function zoom(to) {\n"
        "    var x = number(to, 'x'), w = number(to, 'w'), d = number(to, 'd');\n"
        "    all.forEach(function (g) {\n"
        "      var gx = number(g, 'x'), gw = number(g, 'w'), above = number(g, 'd') < d;\n"
        "      var holds = gx <= x + 1 && gx + gw >= x + w - 1;\n"
        "      var inside = gx >= x - 1 && gx + gw <= x + w + 1 && !above;\n"
        "      var left = above && holds ? 0 : (gx - x) / w, wide = above && holds ? 1 : gw / w;\n"
        "      g.style.display = inside || (above && holds) ? '' : 'none';\n"
        "      g.style.opacity = above && holds ? 0.5 : '';\n"
        "      g.querySelector('rect').setAttribute('x', SIDE + left * INNER);\n"
        "      g.querySelector('rect').setAttribute('width', Math.max(wide * INNER, 0.1));\n"
        "      g.querySelector('text').setAttribute('x', SIDE + left * INNER + 3);\n"
        "      g.querySelector('text').textContent = label(g, wide * INNER);\n"
        "    });\n"
        "  }\n"
        "  function search() {\n"
        "    var word = window.prompt('Find functions (a regular expression):', '');\n"
        "    var rule, sum = 0;\n"
        "    if (word === null) return;\n"
        "    try { rule = word && new RegExp(word, 'i'); } catch (wrong) { return; }\n"
        "    var end = -1;\n"
        "    all.forEach(function (g) {\n"
        "      var hit = rule && rule.test(g.getAttribute('data-n'));\n"
        "      g.classList.toggle('hit', Boolean(hit));\n"
        "    });\n"
        "    all.filter(function (g) { return g.classList.contains('hit'); })\n"
        "      .sort(function (a, b) { return number(a, 'x') - number(b, 'x')"
        " || number(b, 'w') - number(a, 'w'); })\n"
        "      .forEach(function (g) {\n"
        "        if (number(g, 'x') < end - 1) return;\n"
        "        sum += number(g, 'w');\n"
        "        end = number(g, 'x') + number(g, 'w');\n"
        "      });\n"
        "    found.textContent = rule ? 'found: ' + (sum / 10000).toFixed(1) + ' %%' : 'Search';\n"
        "  }\n"
        "  all.forEach(function (g) { g.addEventListener('click', function () { zoom(g); }); });\n"
        "  found.addEventListener('click', search);\n"
        "  window.addEventListener('keydown', function (e) {\n"
        "    if (e.key === '/') { e.preventDefault(); search(); }\n"
        "    if (e.key === 'Escape') zoom(all[0]);\n"
        "  });\n"
        "})();\n"
        "]]></script>\n";

static void svg_head(struct svg *v, uint32_t deepest)
{
        uint32_t height = SVG_TOP + (deepest + 1) * SVG_ROW + SVG_BOTTOM;
        const struct profile_meta *meta = &v->s->profile->meta;
        struct str title = { 0 };

        str_format(&title, "%s: %s", label_base(meta->program ? meta->program : "?"),
                   cost_names[v->cost].title);
        str_format(v->out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32 "\" "
                   "viewBox=\"0 0 %d %" PRIu32 "\" font-family=\"monospace\" font-size=\"11\">\n"
                   "<style>text { pointer-events: none } g.f { cursor: pointer } "
                   "g.f:hover rect { stroke: #222 } g.hit rect { fill: #b06ad6 } "
                   "#found { pointer-events: auto; cursor: pointer }</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf8\"/>\n",
                   SVG_WIDTH, height, SVG_WIDTH, height);
        str_format(v->out, "<text x=\"%d\" y=\"26\" font-size=\"17\" font-family=\"sans-serif\">",
                   SVG_SIDE);
        xml_text(v->out, str_get(&title));
        str_format(v->out, "</text>\n<text x=\"%d\" y=\"45\" fill=\"#555\">click: enlarge, "
                   "Escape: everything, /: search</text>\n"
                   "<text id=\"found\" x=\"%d\" y=\"26\" text-anchor=\"end\">Search</text>\n",
                   SVG_SIDE, SVG_WIDTH - SVG_SIDE);
        str_free(&title);
}

bool export_svg(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        struct svg v = { .s = &s, .out = out };
        struct str whole = { 0 };
        bool good;

        stack_costs_make(&s, in, CALLTREE_BY_FUNCTION);
        good = export_cost(in, &s.source, &v.cost, e);
        if (good) {
                v.boxes = heap_zero(s.node_count, sizeof *v.boxes);
                export_remark_negative(in, svg_sums(&v));
                svg_head(&v, svg_place(&v));
                svg_amount(&v, v.boxes[0].cost, &whole);
                for (uint32_t i = 0; i < s.node_count; i++)
                        svg_box(&v, i, str_get(&whole));
                str_format(out, svg_script, SVG_INNER, SVG_SIDE, SVG_LETTER);
                str_text(out, "</svg>\n");
        }
        str_free(&whole);
        free(v.boxes);
        stack_costs_free(&s);
        return good;
}
