package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"go.yaml.in/yaml/v3"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	gateways "sigs.k8s.io/gateway-api/apis/v1"
)

// A release has the rendered objects of the chart.
type release struct {
	t         *testing.T
	manifests map[string]string
	objects   []runtime.Object
	workload  meta.Object
	selector  labels.Selector
	pod       core.PodTemplateSpec
	gateway   core.Container
	claims    []core.PersistentVolumeClaim
	config    gatewayConfig
}

// A gatewayConfig is the part of uimgate.yaml that must agree with the pod.
type gatewayConfig struct {
	Data   string `yaml:"data"`
	Store  string `yaml:"store"`
	Server struct {
		Listen       string        `yaml:"listen"`
		DrainTimeout time.Duration `yaml:"drain_timeout"`
		TLS          struct {
			ACME struct {
				HTTP string `yaml:"http"`
			} `yaml:"acme"`
		} `yaml:"tls"`
	} `yaml:"server"`
	Telemetry struct {
		Listen string `yaml:"listen"`
	} `yaml:"telemetry"`
	Services []struct {
		Hosts     []string `yaml:"hosts"`
		PublicURL string   `yaml:"public_url"`
	} `yaml:"services"`
}

// of returns the objects of a kind.
func of[T runtime.Object](r *release) (found []T) {
	for _, o := range r.objects {
		if one, ok := o.(T); ok {
			found = append(found, one)
		}
	}
	return found
}

// one returns the only object of a kind.
func one[T runtime.Object](r *release) T {
	r.t.Helper()
	found := of[T](r)
	if len(found) != 1 {
		r.t.Fatalf("%d objects of the type %T; want one", len(found), *new(T))
	}
	return found[0]
}

func render(t *testing.T, name string, values map[string]any) *release {
	t.Helper()
	out, err := template(t, name, values)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{t: t, manifests: out, objects: objects(t, out)}
	if sets := of[*apps.StatefulSet](r); len(sets) > 0 {
		s := one[*apps.StatefulSet](r)
		r.workload, r.pod, r.claims = s, s.Spec.Template, s.Spec.VolumeClaimTemplates
		r.selector, err = meta.LabelSelectorAsSelector(s.Spec.Selector)
	} else {
		d := one[*apps.Deployment](r)
		r.workload, r.pod = d, d.Spec.Template
		r.selector, err = meta.LabelSelectorAsSelector(d.Spec.Selector)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.pod.Spec.Containers) != 1 {
		t.Fatalf("%d containers", len(r.pod.Spec.Containers))
	}
	r.gateway = r.pod.Spec.Containers[0]
	if err := yaml.Unmarshal([]byte(one[*core.ConfigMap](r).Data["uimgate.yaml"]), &r.config); err != nil {
		t.Fatal(err)
	}
	return r
}

// each runs a check on every variant of the chart.
func each(t *testing.T, check func(t *testing.T, r *release)) {
	for name, v := range variants(t) {
		t.Run(name, func(t *testing.T) { check(t, render(t, "shop", v)) })
	}
}

func TestManifestsAreOfTheirTypes(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		for _, o := range r.objects {
			m := o.(meta.Object)
			if m.GetNamespace() != namespace || m.GetLabels()["app.kubernetes.io/instance"] != "shop" {
				t.Errorf("%T %s: namespace %q, labels %v", o, m.GetName(), m.GetNamespace(), m.GetLabels())
			}
		}
		if found := of[*core.Secret](r); len(found) > 0 {
			t.Errorf("the chart creates Secrets: %v, want none", found)
		}
	})
}

// The kinds of objects that a variant has.
func TestKinds(t *testing.T) {
	for name, want := range map[string]string{
		"sqlite":                    "ConfigMap Ingress NetworkPolicy Pod Service Service ServiceAccount StatefulSet",
		"postgres":                  "ConfigMap Deployment NetworkPolicy Pod Service Service ServiceAccount",
		"ha":                        "ConfigMap HTTPRoute NetworkPolicy Pod PodDisruptionBudget PrometheusRule Service Service ServiceAccount ServiceMonitor StatefulSet",
		"replicas without volumes":  "ConfigMap Deployment HTTPRoute NetworkPolicy Pod PodDisruptionBudget PrometheusRule Service Service ServiceAccount ServiceMonitor",
		"nothing optional":          "ConfigMap Pod Service Service StatefulSet",
		"certificate from a Secret": "ConfigMap NetworkPolicy Pod Service Service ServiceAccount StatefulSet",
	} {
		r := render(t, "shop", variants(t)[name])
		var kinds []string
		for _, o := range r.objects {
			kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
		}
		if got := strings.Join(slices.Sorted(slices.Values(kinds)), " "); got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}

func TestNamesAreValid(t *testing.T) {
	long := strings.Repeat("a", 53) // the longest name that Helm accepts
	for _, name := range []string{"shop", "uimgate", long} {
		r := render(t, name, values(t, "ha"))
		seen := map[string]bool{}
		for _, o := range r.objects {
			m, kind := o.(meta.Object), o.GetObjectKind().GroupVersionKind().Kind
			for _, problem := range validation.IsDNS1035Label(m.GetName()) {
				t.Errorf("%s %s: %s", kind, m.GetName(), problem)
			}
			if seen[kind+m.GetName()] {
				t.Errorf("two of %s %s", kind, m.GetName())
			}
			seen[kind+m.GetName()] = true
			for key, value := range m.GetLabels() {
				for _, problem := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)) {
					t.Errorf("%s %s, label %s: %s", kind, m.GetName(), key, problem)
				}
			}
		}
	}
}

func TestSelectorsMatchThePods(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		pods := labels.Set(r.pod.Labels)
		matches := func(what string, s labels.Selector, err error) {
			if err != nil || s.Empty() || !s.Matches(pods) {
				t.Errorf("%s selects %v (%v); the pods have %v", what, s, err, pods)
			}
			for _, test := range of[*core.Pod](r) {
				if s.Matches(labels.Set(test.Labels)) {
					t.Errorf("%s selects the pod of helm test", what)
				}
			}
		}
		selected := func(what string, s *meta.LabelSelector) {
			selector, err := meta.LabelSelectorAsSelector(s)
			matches(what, selector, err)
		}
		matches("the workload", r.selector, nil)
		for _, s := range of[*core.Service](r) {
			matches("Service "+s.Name, labels.SelectorFromSet(s.Spec.Selector), nil)
		}
		for _, n := range of[*networking.NetworkPolicy](r) {
			selected("NetworkPolicy", &n.Spec.PodSelector)
		}
		for _, b := range of[*policy.PodDisruptionBudget](r) {
			selected("PodDisruptionBudget", b.Spec.Selector)
		}
		for _, c := range r.pod.Spec.TopologySpreadConstraints {
			if c.LabelSelector != nil {
				selected("topology", c.LabelSelector)
			}
		}
		if _, ok := r.pod.Labels["app.kubernetes.io/version"]; ok && r.selector.String() != "" && strings.Contains(r.selector.String(),
			"version") {
			t.Error("the selector has the version, which prevents upgrades")
		}
		for _, m := range of[*monitoring.ServiceMonitor](r) {
			s, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
			var found []*core.Service
			for _, service := range of[*core.Service](r) {
				if s.Matches(labels.Set(service.Labels)) {
					found = append(found, service)
				}
			}
			if err != nil || len(found) != 1 {
				t.Fatalf("%v: the ServiceMonitor selects %d Services", err, len(found))
			}
			for _, e := range m.Spec.Endpoints {
				if !slices.ContainsFunc(found[0].Spec.Ports, func(p core.ServicePort) bool { return p.Name == e.Port }) {
					t.Errorf("Service %s has no port %s", found[0].Name, e.Port)
				}
				if e.HonorLabels != true {
					t.Error("the label service of the metrics would be overwritten")
				}
			}
		}
	})
}

func TestPortsExist(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		containers := map[string]int32{}
		for _, p := range r.gateway.Ports {
			if problems := validation.IsValidPortName(p.Name); len(problems) > 0 || containers[p.Name] != 0 {
				t.Errorf("port %s: %v, or duplicate", p.Name, problems)
			}
			containers[p.Name] = p.ContainerPort
		}
		number := func(port intstr.IntOrString) int32 {
			if port.Type == intstr.Int {
				return port.IntVal
			}
			n, ok := containers[port.StrVal]
			if !ok {
				t.Errorf("the container has no port %q", port.StrVal)
			}
			return n
		}
		listening := func(address string) int32 {
			n, err := strconv.Atoi(strings.TrimPrefix(address, ":"))
			if err != nil {
				t.Errorf("the gateway listens on %q, which other pods cannot reach", address)
			}
			return int32(n)
		}

		// Probes use telemetry.listen.
		for what, p := range map[string]*core.Probe{
			"startup": r.gateway.StartupProbe, "liveness": r.gateway.LivenessProbe, "readiness": r.gateway.ReadinessProbe,
		} {
			if p == nil || p.HTTPGet == nil || number(p.HTTPGet.Port) != listening(r.config.Telemetry.Listen) {
				t.Errorf("the %s probe does not use telemetry.listen (%s): %+v", what, r.config.Telemetry.Listen, p)
			}
		}

		// Services use ports on which the gateway listens, and only the headless one uses the telemetry port.
		open := []int32{listening(r.config.Server.Listen)}
		if a := r.config.Server.TLS.ACME.HTTP; a != "" {
			open = append(open, listening(a))
		}
		for name, port := range containers {
			if name != "telemetry" && name != "mrp" && !slices.Contains(open, port) {
				t.Errorf("the gateway does not listen on port %s, %d", name, port)
			}
		}
		services := map[string]map[int32]bool{}
		for _, s := range of[*core.Service](r) {
			services[s.Name] = map[int32]bool{}
			for _, p := range s.Spec.Ports {
				services[s.Name][p.Port] = true
				to := number(p.TargetPort)
				if (to == containers["telemetry"]) != (s.Spec.ClusterIP == core.ClusterIPNone) {
					t.Errorf("Service %s (cluster IP %q) uses port %d", s.Name, s.Spec.ClusterIP, to)
				}
			}
		}
		if set, ok := r.workload.(*apps.StatefulSet); ok && services[set.Spec.ServiceName] == nil {
			t.Errorf("the StatefulSet uses the Service %s, which does not exist", set.Spec.ServiceName)
		}
		for _, i := range of[*networking.Ingress](r) {
			for _, rule := range i.Spec.Rules {
				for _, p := range rule.HTTP.Paths {
					if !services[p.Backend.Service.Name][p.Backend.Service.Port.Number] {
						t.Errorf("the Ingress uses %+v, which does not exist", p.Backend.Service)
					}
				}
			}
		}
		for _, route := range of[*gateways.HTTPRoute](r) {
			for _, b := range route.Spec.Rules[0].BackendRefs {
				if !services[string(b.Name)][*b.Port] {
					t.Errorf("the HTTPRoute uses %s:%d, which does not exist", b.Name, *b.Port)
				}
			}
		}
		for _, n := range of[*networking.NetworkPolicy](r) {
			admitted := map[int32]bool{}
			for _, rule := range n.Spec.Ingress {
				for _, p := range rule.Ports {
					admitted[number(*p.Port)] = true
					if number(*p.Port) == containers["telemetry"] && len(rule.From) == 0 {
						t.Error("the NetworkPolicy allows telemetry from everywhere")
					}
				}
			}
			for name, port := range containers {
				if !admitted[port] {
					t.Errorf("the NetworkPolicy blocks port %s", name)
				}
			}
		}
	})
}

func TestHostsAreThoseOfTheServices(t *testing.T) {
	ha, sqlite := render(t, "shop", values(t, "ha")), render(t, "shop", values(t, "sqlite"))
	route := one[*gateways.HTTPRoute](ha).Spec.Hostnames
	if want := []gateways.Hostname{"shop.example", "rooms.example", "www.rooms.example"}; !slices.Equal(route, want) {
		t.Errorf("hostnames %q; want %q", route, want)
	}
	ingress := one[*networking.Ingress](sqlite)
	if len(ingress.Spec.Rules) != 1 || ingress.Spec.Rules[0].Host != "shop.example" || !slices.Equal(ingress.Spec.TLS[0].Hosts,
		[]string{"shop.example"}) {
		t.Errorf("got %+v", ingress.Spec)
	}
}

// inside reports whether a path is a directory or lies below it.
func inside(path, directory string) bool {
	return path == directory || strings.HasPrefix(path, directory+"/")
}

// absolute matches paths in uimgate.yaml that need a mount.
var absolute = regexp.MustCompile(`/(?:run/secrets|etc|var)/[-._a-zA-Z0-9/]+`)

func TestVolumesAreMounted(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		volumes := map[string]*core.Volume{}
		for i := range r.pod.Spec.Volumes {
			v := &r.pod.Spec.Volumes[i]
			if problems := validation.IsDNS1123Label(v.Name); len(problems) > 0 || volumes[v.Name] != nil {
				t.Errorf("volume %s: %v, or duplicate", v.Name, problems)
			}
			volumes[v.Name] = v
		}
		for _, c := range r.claims {
			if volumes[c.Name] != nil {
				t.Errorf("volume %s is also a claim", c.Name)
			}
			volumes[c.Name] = &core.Volume{Name: c.Name}
		}
		mounted, at := map[string]bool{}, map[string]*core.Volume{}
		for _, m := range r.gateway.VolumeMounts {
			if volumes[m.Name] == nil {
				t.Errorf("%s is mounted but is not a volume", m.Name)
			}
			if at[m.MountPath] != nil {
				t.Errorf("two mounts at %s", m.MountPath)
			}
			if m.SubPath != "" || m.SubPathExpr != "" {
				t.Errorf("%s is mounted with a subpath, so its files would never be updated", m.Name)
			}
			mounted[m.Name], at[m.MountPath] = true, volumes[m.Name]
		}
		for name := range volumes {
			if !mounted[name] {
				t.Errorf("volume %s is not mounted", name)
			}
		}

		// Paths in the configuration are mounted, and the paths of secrets are in Secret volumes.
		text := one[*core.ConfigMap](r).Data["uimgate.yaml"]
		for _, path := range absolute.FindAllString(text, -1) {
			i := slices.IndexFunc(slices.Collect(maps.Keys(at)), func(dir string) bool { return inside(path, dir) })
			if i < 0 {
				t.Errorf("uimgate.yaml uses %s, which is not mounted", path)
			}
			if strings.HasPrefix(path, "/run/secrets/") {
				v := at[filepath.Dir(path)]
				if v == nil || v.Secret == nil {
					t.Errorf("uimgate.yaml uses %s, which is not in a Secret volume", path)
				}
			}
		}
		for _, v := range r.pod.Spec.Volumes {
			if v.Secret != nil && v.Secret.SecretName == "" {
				t.Errorf("volume %s names no Secret", v.Name)
			}
		}
		config := at["/etc/uimgate"]
		if config == nil || config.Projected == nil || config.Projected.Sources[0].ConfigMap.Name != one[*core.ConfigMap](r).Name {
			t.Errorf("the configuration is not mounted: %+v", config)
		}
		if !slices.Equal(r.gateway.Args, []string{"serve", "-c", "/etc/uimgate/uimgate.yaml"}) || r.gateway.Command != nil {
			t.Errorf("got %q %q", r.gateway.Command, r.gateway.Args)
		}
	})
}

var dockerENV = regexp.MustCompile(`(?m)^ENV ([A-Z_]+)=(.*)$`)

func variable(c core.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// TestPodIsThatOfTheImage compares a pod with the Dockerfile: the variables of the image override the configuration, and the users must be
// the same.
func TestPodIsThatOfTheImage(t *testing.T) {
	dockerfile, err := os.ReadFile(filepath.Join(root, "deploy", "image", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	image := dockerENV.FindAllStringSubmatch(string(dockerfile), -1)
	if len(image) < 2 {
		t.Fatalf("the Dockerfile sets %q, want a length of at least 2", image)
	}
	each(t, func(t *testing.T, r *release) {
		for _, m := range image {
			want, known := map[string]string{"UIMGATE_DATA": r.config.Data, "UIMGATE_LISTEN": r.config.Server.Listen}[m[1]]
			if got := variable(r.gateway, m[1]); !known || got != want {
				t.Errorf("%s is %q in the pod; the configuration has %q", m[1], got, want)
			}
		}
		// The data directory is below the volume, because the group may write to the volume itself.
		if mount := filepath.Dir(r.config.Data); !slices.ContainsFunc(r.gateway.VolumeMounts,
			func(m core.VolumeMount) bool { return m.MountPath == mount }) {
			t.Errorf("nothing is mounted at %s", mount)
		}
		user := fmt.Sprintf("USER %d:%d\n", *r.pod.Spec.SecurityContext.RunAsUser, *r.pod.Spec.SecurityContext.RunAsGroup)
		if !strings.Contains(string(dockerfile), user) {
			t.Errorf("the Dockerfile lacks %q", user)
		}
		if !strings.Contains(string(dockerfile), `ENTRYPOINT ["/usr/bin/uimgate"]`) {
			t.Error("the entry point of the image is not the one that the pod expects")
		}
	})
}

func TestPodsAreConfined(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		pods := []core.PodSpec{r.pod.Spec}
		for _, p := range of[*core.Pod](r) {
			pods = append(pods, p.Spec)
		}
		for _, p := range pods {
			s := p.SecurityContext
			if s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || *s.RunAsGroup == 0 ||
				s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("the pod has %+v", s)
			}
			if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken || *p.EnableServiceLinks || p.HostNetwork || p.HostPID {
				t.Error("the pod has a token, service links or the namespaces of the host")
			}
			for _, c := range p.Containers {
				s := c.SecurityContext
				if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Privileged != nil ||
					!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
					t.Errorf("%s has %+v", c.Name, s)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s has the resources %+v", c.Name, c.Resources)
				}
			}
		}
		if *r.pod.Spec.SecurityContext.FSGroupChangePolicy != core.FSGroupChangeOnRootMismatch {
			t.Error("each start would make the private files readable for the group, and the gateway would reject them")
		}
		for _, a := range of[*core.ServiceAccount](r) {
			if *a.AutomountServiceAccountToken || r.pod.Spec.ServiceAccountName != a.Name {
				t.Errorf("%+v; the pods use %s", a, r.pod.Spec.ServiceAccountName)
			}
		}
	})
}

func TestMemoryLimit(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		got, limit := variable(r.gateway, "GOMEMLIMIT"), r.gateway.Resources.Limits.Memory()
		if limit.String() == "1536Mi" || strings.Contains(limit.String(), ".") { // 1.5Gi: the gateway sets its own limit
			if got != "" {
				t.Errorf("GOMEMLIMIT=%s for %s; want an empty string", got, limit)
			}
			return
		}
		if want := strconv.FormatInt(limit.Value()*9/10, 10); got != want {
			t.Errorf("GOMEMLIMIT=%s for %s; want %s", got, limit, want)
		}
	})
}

func TestPodsHaveTimeToStop(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		pause := time.Duration(0)
		if l := r.gateway.Lifecycle; l != nil {
			pause = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
		}
		// Requests, then messages of doors, then ends of calls: each step takes at most the drain timeout.
		need := pause + 3*r.config.Server.DrainTimeout
		if has := time.Duration(*r.pod.Spec.TerminationGracePeriodSeconds) * time.Second; has <= need || r.config.Server.DrainTimeout == 0 {
			t.Errorf("the pod has %v to stop, but may need %v", has, need)
		}
	})
}

func TestReplicasShareNoVolume(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		if strings.HasPrefix(r.config.Store, "sqlite") && len(r.claims) == 0 &&
			!slices.ContainsFunc(r.pod.Spec.Volumes, func(v core.Volume) bool { return v.PersistentVolumeClaim != nil && v.Name == "data" }) {
			t.Error("the state is not on a volume")
		}
		if s, ok := r.workload.(*apps.StatefulSet); ok && len(s.Spec.VolumeClaimTemplates) > 0 {
			if p := s.Spec.PersistentVolumeClaimRetentionPolicy; p.WhenDeleted != apps.RetainPersistentVolumeClaimRetentionPolicyType {
				t.Errorf("uninstalling deletes the volumes: %+v", p)
			}
		}
		if d, ok := r.workload.(*apps.Deployment); ok && d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
			t.Error("a failed upgrade makes a replica unavailable")
		}
	})
}

// TestRulesAreThoseOfThisRelease compares the rules of the chart with those of deploy/observability, which have their own tests.
func TestRulesAreThoseOfThisRelease(t *testing.T) {
	r := render(t, "shop", values(t, "ha"))
	job := ""
	for _, s := range of[*core.Service](r) {
		if s.Labels["app.kubernetes.io/component"] == "telemetry" {
			job = s.Name
		}
	}
	var want []string
	for _, name := range []string{"rules", "alerts"} {
		var file monitoring.PrometheusRuleSpec
		text, err := os.ReadFile(filepath.Join(root, "deploy", "observability", name+".yaml"))
		if err == nil {
			err = k8syaml.UnmarshalStrict(text, &file)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				want = append(want, group.Name+" "+rule.Alert+rule.Record)
			}
		}
	}
	var got []string
	selection := fmt.Sprintf("job=%q, namespace=%q", job, namespace)
	for _, group := range one[*monitoring.PrometheusRule](r).Spec.Groups {
		for _, rule := range group.Rules {
			got = append(got, group.Name+" "+rule.Alert+rule.Record)
			if e := rule.Expr.String(); strings.Count(e, "job=") != strings.Count(e, selection) || !strings.Contains(e, selection) {
				t.Errorf("%s is not about this release: %s", rule.Alert+rule.Record, e)
			}
			if rule.Alert != "" && !strings.HasPrefix(rule.Annotations["runbook_url"], "https://") {
				t.Errorf("%s has the annotations %q", rule.Alert, rule.Annotations)
			}
		}
	}
	if !slices.Equal(got, want) || len(got) < 20 {
		t.Errorf("the chart has the rules %q; want %q", got, want)
	}
}
