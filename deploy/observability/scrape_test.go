package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// scraped is what processes told: of each metric its series, by the sample's own
// name (x_bucket, x_sum, x_count of a histogram x).
type scraped map[string][]labels.Labels

// scrape reads the text that Prometheus reads.
func scrape(t *testing.T, texts ...string) scraped {
	t.Helper()
	all, read := scraped{}, parser.NewParser(parser.Options{})
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			series := strings.TrimSpace(line)
			series = series[:strings.LastIndexByte(series, ' ')]
			found, err := read.ParseMetric(series)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			name := found.Get(model.MetricNameLabel)
			all[name] = append(all[name], found)
		}
	}
	return all
}

// has tells whether a metric has a series with a label of that name.
func (s scraped) has(metric, label string) bool {
	for _, series := range s[metric] {
		if series.Has(label) {
			return true
		}
	}
	return false
}

// query is one that the dashboard or an alert makes.
type query struct {
	of   string // whom
	text string
}

func queries(t *testing.T) (all []query) {
	t.Helper()
	for _, row := range Rows() {
		for _, p := range row.Panels {
			for _, s := range p.Series {
				all = append(all, query{"panel " + p.Title, strings.ReplaceAll(s.Query, "$__rate_interval", "5m")})
				if names := legendLabels(s.Legend); len(names) > 0 {
					all = append(all, query{"the legend of panel " + p.Title, "sum by (" + strings.Join(names, ",") + ") (" + strings.ReplaceAll(s.Query, "$__rate_interval", "5m") + ")"})
				}
			}
		}
	}
	for _, rule := range rules(t) {
		all = append(all, query{"alert " + rule.Alert, rule.Expr})
	}
	return all
}

var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

func legendLabels(legend string) (names []string) {
	for _, found := range legendLabel.FindAllStringSubmatch(legend, -1) {
		names = append(names, found[1])
	}
	return names
}

// given are labels that Prometheus adds, or a query itself.
var given = map[string]bool{"instance": true, "job": true, "class": true, model.MetricNameLabel: true}

// missing is what a query names that was not told: a metric, or a label that none of
// its metrics has.
func (s scraped) missing(q query) (what []string, err error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.text)
	if err != nil {
		return nil, err
	}
	metrics, grouped := map[string]bool{}, map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			metrics[n.Name] = true
			if len(s[n.Name]) == 0 {
				what = append(what, n.Name)
			}
			for _, matcher := range n.LabelMatchers {
				if !given[matcher.Name] && !s.has(n.Name, matcher.Name) {
					what = append(what, n.Name+" with "+matcher.Name)
				}
			}
		case *parser.AggregateExpr:
			for _, name := range n.Grouping {
				grouped[name] = true
			}
		}
		return nil
	})
	for name := range grouped {
		found := given[name]
		for metric := range metrics {
			found = found || s.has(metric, name)
		}
		if !found {
			what = append(what, "a label "+name)
		}
	}
	return what, nil
}
