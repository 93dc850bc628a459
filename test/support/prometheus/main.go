// Command promcheck does in half a minute of building what promtool needs four for: promtool brings the service discovery
// and the remote storage of Prometheus along. It uses the same linter, parser and engine.
//
//	promcheck metrics < TEXT    as promtool check metrics
//	promcheck rules FILE        as promtool test rules, for alerts
//	promcheck names < JSON      the metrics in a list of expressions, a line each
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"go.yaml.in/yaml/v3"
)

var promQL = parser.NewParser(parser.Options{})

func main() {
	commands := map[string]func([]string) error{"metrics": checkMetrics, "rules": testRules, "names": printNames}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fail(errors.New("give one of metrics, rules and names"))
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func checkMetrics([]string) error {
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		return err
	}
	var all error
	for _, problem := range problems {
		all = errors.Join(all, fmt.Errorf("%s: %s", problem.Metric, problem.Text))
	}
	return all
}

func printNames([]string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var expressions []string
	if err := json.Unmarshal(text, &expressions); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, expression := range expressions {
		parsed, err := promQL.ParseExpr(expression)
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if selector, ok := node.(*parser.VectorSelector); ok {
				names[selector.Name] = true
			}
			return nil
		})
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Println(name)
	}
	return nil
}

type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []struct {
		Name        string         `yaml:"name"`
		Interval    model.Duration `yaml:"interval"`
		InputSeries []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		AlertRuleTest []alertTest `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

type alertTest struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	AlertName string         `yaml:"alertname"`
	ExpAlerts []firing       `yaml:"exp_alerts"`
}

type firing struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

func testRules(files []string) error {
	var all error
	for _, file := range files {
		all = errors.Join(all, testRulesOf(file))
	}
	return all
}

func testRulesOf(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var tests testFile
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&tests); err != nil {
		return err
	}
	rules := map[string]rulefmt.Rule{}
	untested := map[string]bool{}
	for _, name := range tests.RuleFiles {
		path := filepath.Join(filepath.Dir(file), name)
		groups, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, promQL, slog.Default())
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				rules[rule.Alert] = rule
				untested[rule.Alert] = true
			}
		}
	}
	var all error
	for _, test := range tests.Tests {
		stored := &memory{}
		for _, input := range test.InputSeries {
			series, err := seriesOf(input.Series+" "+input.Values, time.Duration(test.Interval))
			if err != nil {
				return fmt.Errorf("%s: %w", test.Name, err)
			}
			stored.series = append(stored.series, series)
		}
		for _, alert := range test.AlertRuleTest {
			rule, known := rules[alert.AlertName]
			if !known {
				return fmt.Errorf("%s: there is no alert %s", test.Name, alert.AlertName)
			}
			if len(alert.ExpAlerts) > 0 {
				delete(untested, alert.AlertName)
			}
			found, err := firingAt(stored, rule, time.Duration(alert.EvalTime), time.Duration(tests.EvaluationInterval))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", test.Name, alert.AlertName, err)
			}
			if expected, got := asText(alert.ExpAlerts), asText(found); expected != got {
				all = errors.Join(all, fmt.Errorf("%s: %s at %s\nexpected: %s\ngot:      %s",
					test.Name, alert.AlertName, alert.EvalTime, expected, got))
			}
		}
	}
	for name := range untested {
		all = errors.Join(all, fmt.Errorf("no test has %s fire", name))
	}
	return all
}

func asText(alerts []firing) string {
	lines := []string{}
	for _, alert := range alerts {
		line, _ := json.Marshal([]map[string]string{alert.Labels, alert.Annotations})
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// An alert fires when its expression has had a value at every evaluation for as long as the rule says.
func firingAt(stored storage.Queryable, rule rulefmt.Rule, at, every time.Duration) ([]firing, error) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: promQL})
	defer engine.Close()
	since := map[uint64]time.Duration{}
	var last promql.Vector
	for now := time.Duration(0); now <= at; now += every {
		query, err := engine.NewInstantQuery(context.Background(), stored, nil, rule.Expr, time.UnixMilli(now.Milliseconds()))
		if err != nil {
			return nil, err
		}
		result := query.Exec(context.Background())
		if result.Err != nil {
			return nil, result.Err
		}
		vector, err := result.Vector()
		if err != nil {
			return nil, err
		}
		before := since
		since = map[uint64]time.Duration{}
		last = nil
		for _, sample := range vector {
			hash := sample.Metric.Hash()
			start, active := before[hash]
			if !active {
				start = now
			}
			since[hash] = start
			if now-start >= time.Duration(rule.For) {
				last = append(last, sample)
			}
		}
		query.Close()
	}
	found := []firing{}
	for _, sample := range last {
		alert := firing{Labels: sample.Metric.Map(), Annotations: map[string]string{}}
		delete(alert.Labels, model.MetricNameLabel)
		maps.Copy(alert.Labels, rule.Labels)
		data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
		for name, text := range rule.Annotations {
			variables := "{{$labels := .Labels}}{{$value := .Value}}"
			expander := template.NewTemplateExpander(context.Background(), variables+text, name, data,
				model.Time(at.Milliseconds()), nil, &url.URL{}, nil)
			expanded, err := expander.Expand()
			if err != nil {
				return nil, err
			}
			alert.Annotations[name] = expanded
		}
		found = append(found, alert)
	}
	return found, nil
}

type memory struct{ series []storage.Series }

func (stored *memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: stored.find}, nil
}

func (stored *memory) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &list{SeriesSet: storage.EmptySeriesSet(), index: -1}
	for _, one := range stored.series {
		matches := func(matcher *labels.Matcher) bool { return !matcher.Matches(one.Labels().Get(matcher.Name)) }
		if !slices.ContainsFunc(matchers, matches) {
			found.series = append(found.series, one)
		}
	}
	slices.SortFunc(found.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

func seriesOf(description string, interval time.Duration) (storage.Series, error) {
	named, values, err := promQL.ParseSeriesDesc(description)
	if err != nil {
		return nil, err
	}
	var samples []chunks.Sample
	for i, value := range values {
		if !value.Omitted {
			samples = append(samples, sample{t: int64(i) * interval.Milliseconds(), value: value.Value})
		}
	}
	return storage.NewListSeries(named, samples), nil
}

type list struct {
	storage.SeriesSet // for Warnings
	series            []storage.Series
	index             int
}

func (l *list) Next() bool         { l.index++; return l.index < len(l.series) }
func (l *list) At() storage.Series { return l.series[l.index] }
func (l *list) Err() error         { return nil }

type sample struct {
	t     int64
	value float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
