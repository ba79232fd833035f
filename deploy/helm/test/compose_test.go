package deploy_test

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

const deploy = "../.."

// project loads Compose files as docker compose does, with all references resolved.
func project(t *testing.T, files ...string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions(files, cli.WithoutEnvironmentResolution, cli.WithResolvedPaths(true), cli.WithWorkingDirectory(deploy))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func compose(t *testing.T) *types.Project { return project(t, deploy+"/compose.yaml") }

// pinned matches an image with a version in its tag, or an image that is built here.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?[0-9]+\.[0-9]+[-.a-z0-9]*$`)

func TestComposeServices(t *testing.T) {
	p := compose(t)
	if got := slices.Sorted(slices.Values(p.ServiceNames())); !slices.Equal(got, []string{"grafana", "postgres", "prometheus", "uimgate"}) {
		t.Fatalf("got %q, want %+v", got, []string{"grafana", "postgres", "prometheus", "uimgate"})
	}
	for name, s := range p.Services {
		if s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged {
			t.Errorf("%s can gain privileges", name)
		}
		for other, d := range s.DependsOn {
			if d.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s does not wait for %s to be healthy", name, other)
			}
		}
		if (len(s.Ports) > 0) != (name == "uimgate") {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
		for network := range s.Networks {
			if name != "uimgate" && !bool(p.Networks[network].Internal) {
				t.Errorf("%s is in the network %s, which is not internal", name, network)
			}
		}
		for key, value := range s.Environment {
			if value != nil && regexp.MustCompile(`PASSWORD|SECRET|TOKEN`).MatchString(key) && !strings.HasPrefix(*value, "/run/secrets/") {
				t.Errorf("%s has a secret in %s", name, key)
			}
		}
	}
	uimgate := p.Services["uimgate"]
	if !uimgate.ReadOnly || !slices.Equal(uimgate.CapDrop, []string{"ALL"}) {
		t.Error("the gateway container is not restricted")
	}
}

func TestComposeFilesExist(t *testing.T) {
	p := compose(t)
	ignored, err := filepath.Abs(filepath.Join(deploy, "compose", "secrets"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		at := map[string]bool{}
		for _, v := range s.Volumes {
			if at[v.Target] {
				t.Errorf("%s: two mounts at %s", name, v.Target)
			}
			at[v.Target] = true
			switch v.Type {
			case types.VolumeTypeBind:
				if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
					t.Errorf("%s mounts %s (read only: %v): %v", name, v.Source, v.ReadOnly, err)
				}
			case types.VolumeTypeVolume:
				if _, ok := p.Volumes[v.Source]; !ok {
					t.Errorf("%s mounts the volume %s, which is not declared", name, v.Source)
				}
			default:
				t.Errorf("%s: %+v", name, v)
			}
		}
		for _, secret := range s.Secrets {
			// The user creates the secret, so it is not in the repository.
			if file := p.Secrets[secret.Source].File; filepath.Dir(file) != ignored {
				t.Errorf("%s reads the secret %s from %q, which is not in the directory that Git ignores", name, secret.Source, file)
			}
		}
	}
	c := exec.Command("git", "check-ignore", "--quiet", filepath.Join(ignored, "postgres-password"))
	c.Dir = deploy
	if _, err := exec.LookPath("git"); err == nil {
		if err := c.Run(); err != nil {
			t.Errorf("Git does not ignore the secrets: %v", err)
		}
	}
}

// TestComposeConfiguration runs uimgate check on the mounted configuration.
func TestComposeConfiguration(t *testing.T) {
	binary, err := uimgate()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"uimgate.yaml", "agents.json", "policy.json"} {
		text, err := os.ReadFile(filepath.Join(deploy, "compose", "uimgate", name))
		if err != nil {
			t.Fatal(err)
		}
		here := strings.ReplaceAll(string(text), "/run/secrets/", dir+"/")
		// The host is the name of a container, and looking it up outside may take long.
		here = strings.ReplaceAll(here, "@postgres/", "@127.0.0.1:1/")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := compose(t).Services["uimgate"]
	for _, secret := range s.Secrets {
		if err := os.WriteFile(filepath.Join(dir, secret.Source), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(binary, "check", "-c", filepath.Join(dir, "uimgate.yaml"))
	c.Env = []string{"UIMGATE_LISTEN=:8080", "UIMGATE_DATA=" + filepath.Join(dir, "data")} // as in the image
	out, err := c.CombinedOutput()
	if err != nil || strings.Count(string(out), ": warning: ") != strings.Count(string(out), ": warning: store: cannot be read") {
		t.Errorf("%v: %s", err, out)
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join(deploy, path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestComposeServicesFindEachOther compares the names and ports that the files use for each other.
func TestComposeServicesFindEachOther(t *testing.T) {
	p := compose(t)
	together := func(a, b string) {
		t.Helper()
		if _, ok := p.Services[b]; !ok {
			t.Errorf("%s connects to %q, which is not a service", a, b)
			return
		}
		for network := range p.Services[a].Networks {
			if _, ok := p.Services[b].Networks[network]; ok {
				return
			}
		}
		t.Errorf("%s and %s share no network", a, b)
	}
	mounts := func(service, target string) string {
		t.Helper()
		for _, v := range p.Services[service].Volumes {
			if v.Target == target {
				return v.Source
			}
		}
		t.Errorf("%s mounts nothing at %s", service, target)
		return ""
	}

	var gate struct {
		Store  string `yaml:"store"`
		Server struct {
			Listen string `yaml:"listen"`
		} `yaml:"server"`
		Telemetry struct {
			Listen string `yaml:"listen"`
		} `yaml:"telemetry"`
		Admin struct {
			Hosts []string `yaml:"hosts"`
		} `yaml:"admin"`
		Services []struct {
			PublicURL string            `yaml:"public_url"`
			Agents    string            `yaml:"agents_file"`
			Policy    string            `yaml:"policy_file"`
			Upstream  map[string]string `yaml:"upstream"`
		} `yaml:"services"`
	}
	readYAML(t, "compose/uimgate/uimgate.yaml", &gate)
	store, err := url.Parse(strings.ReplaceAll(gate.Store, "${file:/run/secrets/postgres-password}", "x"))
	if err != nil {
		t.Fatal(err)
	}
	together("uimgate", store.Hostname())
	database := p.Services["postgres"].Environment
	if user, name := *database["POSTGRES_USER"], *database["POSTGRES_DB"]; store.User.Username() != user || store.Path != "/"+name {
		t.Errorf("the gateway connects to %s as %s; the database is %s with the user %s", store.Path, store.User.Username(), name, user)
	}
	published := p.Services["uimgate"].Ports[0]
	public, err := url.Parse(gate.Services[0].PublicURL)
	if err != nil || public.Port() != published.Published || public.Hostname() != published.HostIP {
		t.Errorf("%v: agents use %s, but %s:%s is published", err, public, published.HostIP, published.Published)
	}
	if _, port, _ := net.SplitHostPort(gate.Server.Listen); port != "8080" || published.Target != 8080 {
		t.Errorf("the gateway listens on %s, but %d is published", gate.Server.Listen, published.Target)
	}
	if mounts("uimgate", "/etc/uimgate") == "" {
		t.Error("the configuration is not mounted")
	}

	var prometheus struct {
		Global map[string]string `yaml:"global"`
		Rules  []string          `yaml:"rule_files"`
		Scrape []struct {
			Job    string `yaml:"job_name"`
			Static []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "compose/prometheus.yml", &prometheus)
	host, port, err := net.SplitHostPort(prometheus.Scrape[0].Static[0].Targets[0])
	together("prometheus", host)
	if err != nil || ":"+port != gate.Telemetry.Listen || !slices.Contains(gate.Admin.Hosts, host) {
		t.Errorf("%v: Prometheus scrapes %s:%s; the gateway listens on %s for %q", err, host, port, gate.Telemetry.Listen, gate.Admin.Hosts)
	}
	for _, rules := range prometheus.Rules {
		if _, err := os.Stat(filepath.Join(mounts("prometheus", filepath.Dir(rules)), filepath.Base(rules))); err != nil {
			t.Error(err)
		}
	}

	var sources struct {
		APIVersion  int              `yaml:"apiVersion"`
		Datasources []map[string]any `yaml:"datasources"`
	}
	readYAML(t, "compose/grafana/datasources/prometheus.yaml", &sources)
	source, err := url.Parse(sources.Datasources[0]["url"].(string))
	if err != nil || source.Port() != "9090" {
		t.Errorf("%v: %v", err, source)
	}
	together("grafana", source.Hostname())
	var dashboards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			AllowUIUpdates     bool              `yaml:"allowUiUpdates"`
			Options            map[string]string `yaml:"options"`
		} `yaml:"providers"`
	}
	readYAML(t, "compose/grafana/dashboards/uimgate.yaml", &dashboards)
	from := mounts("grafana", dashboards.Providers[0].Options["path"])
	if found, err := filepath.Glob(filepath.Join(from, "*.json")); err != nil || len(found) == 0 {
		t.Errorf("%s has no dashboards: %v", from, err)
	}
}

// TestComposeGrafanaIsPublishedOnThisMachine loads the second file on top of the first.
func TestComposeGrafanaIsPublishedOnThisMachine(t *testing.T) {
	p := project(t, deploy+"/compose.yaml", deploy+"/compose/grafana.yaml")
	ports := p.Services["grafana"].Ports
	if len(ports) != 1 || ports[0].HostIP != "127.0.0.1" || p.Services["grafana"].Networks["monitoring"] == nil &&
		len(p.Services["grafana"].Networks) != 2 {
		t.Errorf("got %+v", p.Services["grafana"])
	}
}
