package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Colours of Okabe and Ito, which people with any kind of colour vision can tell apart.
const (
	blue   = "#0072B2" // good
	red    = "#D55E00" // bad
	orange = "#E69F00" // between
	green  = "#009E73"
	grey   = "#999999" // unknown, or of no importance
)

// here selects what the variables choose, and more labels.
func here(metric string, more ...string) string {
	labels := append([]string{`job=~"$job"`, `instance=~"$instance"`, `kafka_cluster=~"$kafka_cluster"`}, more...)
	return "kafka_connection_" + metric + "{" + strings.Join(labels, ", ") + "}"
}

// chosen selects the chosen brokers.
func chosen(metric string, more ...string) string {
	return here(metric, append([]string{`broker_id=~"$broker"`}, more...)...)
}

// query is one query of a panel. Legend is Grafana's template of a series' name.
type query struct{ expr, legend string }

// panel is what all kinds of panels have in common. Their place is given by their order.
type panel struct {
	title, about string
	unit         string
	width        uint32
	height       uint32
	steps        []dashboard.Threshold
	queries      []query
}

func step(from *float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: from, Color: color}
}

// steps returns thresholds: first a colour, then pairs of a value and the colour from there on.
func steps(base string, more ...any) []dashboard.Threshold {
	all := []dashboard.Threshold{step(nil, base)}
	for i := 0; i < len(more); i += 2 {
		all = append(all, step(new(more[i].(float64)), more[i+1].(string)))
	}
	return all
}

func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

func (p panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	all := p.steps
	if all == nil {
		all = steps(blue)
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(all)
}

// targets builds the queries. Instant ones are for panels that show the moment.
func (p panel) targets(instant bool) []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		b := prometheus.NewDataqueryBuilder().Datasource(source()).Expr(q.expr).LegendFormat(q.legend).RefId(string(rune('A' + i)))
		if instant {
			b = b.Instant().Format(prometheus.PromQueryFormatTable)
		} else {
			b = b.Range()
		}
		all = append(all, b)
	}
	return all
}

// word is how a value is shown.
type word struct{ value, text, color string }

func mapping(words []word) []dashboard.ValueMapping {
	options := make(map[string]dashboard.ValueMappingResult)
	for i, w := range words {
		options[w.value] = dashboard.ValueMappingResult{Text: new(w.text), Color: new(w.color), Index: new(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// number shows one value for each series.
func (p panel) number(words ...word) cog.Builder[dashboard.Panel] {
	b := stat.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Thresholds(p.thresholds()).Targets(p.targets(false)).
		ColorMode(common.BigValueColorModeBackground).GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	if len(words) > 0 {
		b = b.Mappings(mapping(words))
	}
	return b
}

// timeline shows states over time, a line for each series, 30 of them on a page.
func (p panel) timeline(words ...word) cog.Builder[dashboard.Panel] {
	return statetimeline.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Thresholds(p.thresholds()).Targets(p.targets(false)).Mappings(mapping(words)).
		MergeValues(true).ShowValue(common.VisibilityModeNever).RowHeight(0.8).PerPage(30).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
}

// lines shows values over time.
func (p panel) lines() cog.Builder[dashboard.Panel] { return p.chart() }

// stack shows values over time on top of each other. Series whose name ends in a word have its colour.
func (p panel) stack(words ...word) cog.Builder[dashboard.Panel] {
	b := p.chart().FillOpacity(60).LineWidth(0).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	for _, w := range words {
		b = b.OverrideByRegexp("/"+w.text+"$/", []dashboard.DynamicConfigValue{{Id: "color", Value: map[string]any{"mode": "fixed", "fixedColor": w.color}}})
	}
	return b
}

func (p panel) chart() *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Thresholds(p.thresholds()).Targets(p.targets(false)).Min(0).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassicByName)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
}

// rows shows the labels of each series as a row. Labels that everybody knows are left out.
func (p panel) rows() *table.PanelBuilder {
	hidden := map[string]any{"Time": true, "__name__": true, "job": true, "Value": p.unit == "none"}
	for i := range p.queries {
		if len(p.queries) > 1 {
			hidden[fmt.Sprintf("Value #%c", 'A'+i)] = p.unit == "none"
		}
	}
	return table.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Thresholds(p.thresholds()).Targets(p.targets(true)).Filterable(true).NoValue("nothing").
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hidden}}).
		OverrideByName("reason", link("What to do about ${__value.raw}", "${runbooks}/reasons/${__value.raw}.md")).
		OverrideByName("broker_id", link("Broker ${__value.raw}", brokerPage+"?var-broker=${__value.raw}&${datasource:queryparam}&${job:queryparam}&var-kafka_cluster=${__data.fields.kafka_cluster}"))
}

// link makes the values of a column lead to an address.
func link(title, url string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]any{{"title": title, "url": url, "targetBlank": strings.HasPrefix(url, "${runbooks}")}}}}
}
