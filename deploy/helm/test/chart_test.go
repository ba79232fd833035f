// Package deploy_test checks the files for orchestrators in deploy: the Helm chart and the Docker Compose file. It is a separate module,
// because Helm and Kubernetes are far larger than uimgate, which needs neither.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	gateways "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	root      = "../../.."
	chartDir  = "../uimgate"
	namespace = "apis"
)

// files are the example values of the chart.
var files = []string{"sqlite", "postgres", "ha"}

func values(t *testing.T, name string, changes ...map[string]any) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "ci", name+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := common.ReadValues(text)
	if err != nil {
		t.Fatal(err)
	}
	merged := map[string]any(v)
	for _, c := range changes {
		merged = loader.MergeMaps(merged, c)
	}
	return merged
}

// set returns values with one value at a dotted path.
func set(path string, value any) map[string]any {
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		value = map[string]any{key: value}
	}
	return value.(map[string]any)
}

// all merges values.
func all(several ...map[string]any) map[string]any {
	merged := map[string]any{}
	for _, one := range several {
		merged = loader.MergeMaps(merged, one)
	}
	return merged
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// template renders the chart as helm install does, but rejects unknown keys.
func template(t *testing.T, release string, values map[string]any) (map[string]string, error) {
	t.Helper()
	c := load(t)
	full, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true},
		common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	out, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), c, full)
	named := map[string]string{}
	for name, text := range out {
		named[strings.TrimPrefix(name, "uimgate/templates/")] = text
	}
	return named, err
}

// variants are the values that the tests render: the chart's examples, and others that are in no file.
func variants(t *testing.T) map[string]map[string]any {
	t.Helper()
	of := map[string]map[string]any{}
	for _, f := range files {
		of[f] = values(t, f)
	}
	of["certificate from a Secret"] = values(t, "sqlite", all(set("tls.mode", "secret"), set("tls.existingSecret", "shop-tls"),
		set("ingress.enabled", false), set("service.type", "LoadBalancer")))
	of["existing claim"] = values(t, "sqlite", set("persistence.existingClaim", "uimgate"))
	of["ACME by DNS"] = values(t, "postgres", set("config.server.tls.acme.dns.server", "ns1.shop.example:53"))
	of["replicas without volumes"] = values(t, "ha", set("persistence.enabled", false))
	of["nothing optional"] = values(t, "sqlite", all(set("ingress.enabled", false), set("networkPolicy.enabled", false),
		set("serviceAccount.create", false), set("tests.verify", false), set("resources.limits", map[string]any{"memory": "1.5Gi"}),
		set("shutdown.pauseSeconds", 0)))
	of["everything set"] = values(t, "ha", all(
		set("fullnameOverride", "gate"), set("commonLabels", map[string]any{"team": "apis"}), set("restartOnChange", true),
		set("imagePullSecrets", []any{map[string]any{"name": "registry"}}), set("podLabels", map[string]any{"a": "b"}),
		set("podAnnotations", map[string]any{"c": "d"}), set("nodeSelector", map[string]any{"disk": "ssd"}),
		set("tolerations", []any{map[string]any{"key": "k", "operator": "Exists"}}), set("priorityClassName", "high"),
		set("affinity.nodeAffinity", map[string]any{}), set("env", []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}}),
		set("topologySpreadConstraints", []any{map[string]any{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}}),
		set("persistence.storageClassName", "fast"), set("persistence.annotations", map[string]any{"e": "f"}),
		set("serviceAccount.annotations", map[string]any{"g": "h"}), set("serviceAccount.name", "gate"),
		set("service", map[string]any{
			"type": "LoadBalancer", "annotations": map[string]any{"i": "j"}, "loadBalancerClass": "example.com/lb",
			"loadBalancerSourceRanges": []any{"192.0.2.0/24"}, "httpPort": 8000,
		}),
		set("httpRoute.hostnames", []any{"*.shop.example"}), set("httpRoute.annotations", map[string]any{"k": "l"}),
		set("podDisruptionBudget.maxUnavailable", "50%"),
	))
	return of
}

func TestLint(t *testing.T) {
	for _, f := range append(slices.Clone(files), "") {
		v := map[string]any{}
		if f != "" {
			v = values(t, f)
		}
		for _, m := range lint.RunAll(chartDir, v, namespace, lint.WithKubeVersion(&common.DefaultCapabilities.KubeVersion)).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("values %q: %v; want Severity less than %v", f, m, support.WarningSev)
			}
		}
	}
}

// TestSchemaIsOfTheValues finds values without a schema, and schemas without a value in the chart.
func TestSchemaIsOfTheValues(t *testing.T) {
	c := load(t)
	var schema node
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	compare(t, "", schema, c.Values)
}

type node struct {
	AdditionalProperties any             `json:"additionalProperties"`
	Properties           map[string]node `json:"properties"`
}

func compare(t *testing.T, path string, schema node, values map[string]any) {
	t.Helper()
	if schema.AdditionalProperties != false {
		return // the user fills this map
	}
	for key, v := range values {
		s, ok := schema.Properties[key]
		if !ok {
			t.Errorf("values.schema.json lacks %s%s", path, key)
		}
		if inner, isMap := v.(map[string]any); isMap {
			compare(t, path+key+".", s, inner)
		}
	}
	for key := range schema.Properties {
		optional := []string{
			"global", "probes.startup.initialDelaySeconds", "probes.startup.successThreshold",
			"probes.liveness.initialDelaySeconds", "probes.liveness.successThreshold", "probes.readiness.initialDelaySeconds",
			"probes.readiness.successThreshold", "resources.limits.cpu",
		}
		if _, ok := values[key]; !ok && !slices.Contains(optional, path+key) {
			t.Errorf("values.yaml lacks %s%s", path, key)
		}
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	service := func(changes ...map[string]any) map[string]any {
		return set("config.services", []any{all(append([]map[string]any{{
			"public_url": "https://shop.example", "agents_file": "agents.json", "policy_file": "policy.json",
			"upstream": map[string]any{"url": "http://shop:9000"},
		}}, changes...)...)})
	}
	for name, c := range map[string]struct {
		file   string
		change map[string]any
		want   string
	}{
		"unknown value":                    {"sqlite", set("replicaCount", 2), "replicaCount"},
		"unknown value inside":             {"sqlite", set("image.repo", "x"), "repo"},
		"unknown key of the configuration": {"sqlite", set("config.sever", map[string]any{}), "sever"},
		"replicas on SQLite":               {"sqlite", set("replicas", 2), "/replicas"},
		"SQLite without a volume":          {"sqlite", set("persistence.enabled", false), "/persistence/enabled"},
		"replicas as a text":               {"ha", set("replicas", "3"), "/replicas"},
		"no database":                      {"postgres", set("store.postgres.existingSecret", ""), "/store/postgres"},
		"two databases":                    {"postgres", set("store.postgres.url", "postgres://db/uimgate"), "/store/postgres"},
		"a password in the values":         {"ha", set("store.postgres.url", "postgres://uimgate:hunter2@db/uimgate"), "/store/postgres/url"},
		"a database of another kind":       {"ha", set("store.postgres.url", "mysql://db/uimgate"), "/store/postgres/url"},
		"a database for SQLite":            {"sqlite", set("store.postgres.existingSecret", "db"), "/store/postgres/existingSecret"},
		"one claim for replicas":           {"ha", set("persistence.existingClaim", "data"), "/replicas"},
		"TLS without a Secret":             {"sqlite", set("tls.mode", "secret"), "/tls/existingSecret"},
		"a Secret without TLS":             {"sqlite", set("tls.existingSecret", "x"), "/tls/existingSecret"},
		"ACME behind an Ingress":           {"postgres", set("ingress.enabled", true), "/ingress/enabled"},
		"ACME without agreement":           {"postgres", set("config.server.tls.acme.agree", false), "config.server.tls.acme.agree must be true"},
		"ACME in the configuration alone":  {"sqlite", set("config.server.tls.acme.agree", true), "config.server.tls.acme needs tls.mode: acme"},
		"a route without a gateway":        {"ha", set("httpRoute.parentRefs", []any{}), "/httpRoute/parentRefs"},
		"an invalid size":                  {"sqlite", set("persistence.size", "8 GB"), "/persistence/size"},
		"an invalid duration":              {"ha", set("serviceMonitor.interval", "30"), "/serviceMonitor/interval"},
		"a file in a directory":            {"sqlite", set("files", map[string]any{"a/b.json": "{}"}), "a/b.json"},
		"the configuration as a file":      {"sqlite", set("files", map[string]any{"uimgate.yaml": ""}), "uimgate.yaml"},
		"a port of the gateway":            {"ha", set("extraPorts", []any{map[string]any{"name": "x", "port": 8082}}), "/extraPorts/0/port"},
		"a variable of the chart":          {"ha", set("env", []any{map[string]any{"name": "UIMGATE_DATA", "value": "/x"}}), "/env/0/name"},
		"no image":                         {"sqlite", set("image.repository", ""), "image.repository is required"},
		"no service":                       {"sqlite", set("config.services", []any{}), "config.services is empty"},
		"a service without a URL":          {"sqlite", service(set("public_url", "")), "config.services[0].public_url is required"},
		"a file that is not there":         {"sqlite", service(set("policy_file", "terms.json")), "config.services[0].policy_file names terms.json"},
		"data":                             {"sqlite", set("config.data", "/data"), "config.data is set by the chart: use persistence"},
		"store":                            {"sqlite", set("config.store", "sqlite"), "config.store is set by the chart: use store"},
		"server.listen":                    {"sqlite", set("config.server.listen", ":1"), "config.server.listen is set by the chart: use tls.mode"},
		"server.drain_timeout":             {"sqlite", set("config.server.drain_timeout", "1m"), "use shutdown.drainSeconds"},
		"server.tls.cert":                  {"sqlite", set("config.server.tls.cert", "x"), "use tls.existingSecret"},
		"telemetry.listen":                 {"sqlite", set("config.telemetry.listen", ":1"), "config.telemetry.listen is set by the chart"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, "shop", values(t, c.file, c.change))
			if err == nil {
				t.Fatalf("rendered:\n%s", out["configmap.yaml"])
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want a problem of %q", err, c.want)
			}
		})
	}
}

// decoder rejects unknown and duplicate fields.
var decoder = func() runtime.Decoder {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), gateways.Install(types), monitoring.AddToScheme(types)); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
}()

// objects decodes rendered manifests.
func objects(t *testing.T, manifests map[string]string) (decoded []runtime.Object) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(manifests[name])))
		for {
			text := make([]byte, 1<<20)
			n, err := documents.Read(text)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(name, err)
			}
			if text = text[:n]; len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			o, _, err := decoder.Decode(text, nil, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			decoded = append(decoded, o)
		}
	}
	return decoded
}

func TestNotes(t *testing.T) {
	for name, want := range map[string][]string{
		"sqlite":   {"StatefulSet of 1 replica in the namespace apis", "https://shop.example", "rollout status statefulset/shop-uimgate", "helm test shop"},
		"postgres": {"Deployment of 1 replica", "ACME certificates", "The audit stream of a pod ends with the pod"},
		"ha":       {"StatefulSet of 3 replicas", "https://rooms.example"},
	} {
		out, err := template(t, "shop", values(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(out["NOTES.txt"], w) {
				t.Errorf("%s: the notes lack %q:\n%s", name, w, out["NOTES.txt"])
			}
		}
		if strings.Contains(out["NOTES.txt"], "WARNING") {
			t.Errorf("%s: a warning:\n%s", name, out["NOTES.txt"])
		}
	}
	out, err := template(t, "shop", values(t, "sqlite", all(set("ingress.enabled", false), set("config.server",
		map[string]any{"trusted_proxies": []any{}}))))
	if err != nil || !strings.Contains(out["NOTES.txt"], "trusted_proxies is empty") || !strings.Contains(out["NOTES.txt"],
		"neither an Ingress") {
		t.Errorf("%v\n%s", err, out["NOTES.txt"])
	}
}
