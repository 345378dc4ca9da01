package dashboards

//lint:file-ignore SA1019 The newer schema cannot be imported into Grafana 11.

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const (
	overviewUID = "kafka-connection-overview"
	brokerUID   = "kafka-connection-broker"
	brokerPage  = "/d/" + brokerUID

	// runbooks is the address that the constant of this name begins with; who has a copy of the folder elsewhere changes it.
	runbooks = "https://runbooks.example.com/kafka_connection_exporter/runbooks"
)

// Files returns the dashboards as JSON by the name of their file.
func Files() map[string][]byte {
	files := make(map[string][]byte)
	for name, d := range map[string]dashboard.Dashboard{"overview.json": Overview(), "broker.json": Broker()} {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			panic(fmt.Sprintf("dashboards: %s: %v", name, err)) // the input is constant
		}
		files[name] = append(text, '\n')
	}
	return files
}

// brokers fills the variable of that name.
var brokers = "label_values(" + here("broker_reachable") + ", broker_id)"

// frame is what both dashboards have in common.
func frame(uid, title, about string, broker *dashboard.QueryVariableBuilder) *dashboard.DashboardBuilder {
	b := dashboard.NewDashboardBuilder(title).Uid(uid).Description(about).Tags([]string{"kafka", "kafka_connection_exporter"}).
		Readonly().Tooltip(dashboard.DashboardCursorSyncCrosshair).Time("now-3h", "now").Refresh("30s").Timezone("browser").
		Link(dashboard.NewDashboardLinkBuilder("Dashboards").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"kafka_connection_exporter"}).IncludeVars(true).KeepTime(true)).
		Link(dashboard.NewDashboardLinkBuilder("Runbooks").Type(dashboard.DashboardLinkTypeLink).
			Url("${runbooks}/README.md").TargetBlank(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	const metric = "kafka_connection_up"
	b = b.WithVariable(all(choice("job", "Job", "label_values("+metric+", job)"))).
		WithVariable(all(choice("instance", "Exporter", `label_values(`+metric+`{job=~"$job"}, instance)`))).
		WithVariable(all(choice("kafka_cluster", "Cluster", `label_values(`+metric+`{job=~"$job", instance=~"$instance"}, kafka_cluster)`))).
		WithVariable(broker.Sort(dashboard.VariableSortNumericalAsc))
	return b.WithVariable(dashboard.NewConstantVariableBuilder("runbooks").Label("Address of the runbooks").
		Value(dashboard.StringOrMap{String: new(runbooks)}))
}

// choice is a variable of which several values can be chosen. It begins with the first.
func choice(name, label, definition string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).Definition(definition).
		Query(dashboard.StringOrMap{String: new(definition)}).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).Multi(true)
}

// all lets everything be chosen, and begins with that. It matches also what has no such label.
func all(choice *dashboard.QueryVariableBuilder) *dashboard.QueryVariableBuilder {
	return choice.IncludeAll(true).AllValue(".*").Current(dashboard.VariableOption{
		Text:  dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	})
}

// finish builds the dashboard and numbers its panels.
func finish(b *dashboard.DashboardBuilder, panels []cog.Builder[dashboard.Panel]) dashboard.Dashboard {
	for _, p := range panels {
		b = b.WithPanel(p)
	}
	d, err := b.Build()
	if err != nil {
		panic(fmt.Sprintf("dashboards: %v", err)) // the input is constant
	}
	for i := range d.Panels {
		d.Panels[i].Panel.Id = new(uint32(i + 1))
	}
	return d
}
