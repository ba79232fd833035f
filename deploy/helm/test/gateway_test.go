package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

var scratch string // shared by all tests

// uimgate builds the command once.
var uimgate = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "uimgate")
	c := exec.Command("go", "build", "-o", binary, "./cmd/uimgate")
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	out, err := c.CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return binary, err
})

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm logs the rendered templates
	var err error
	if scratch, err = os.MkdirTemp("", "uimgate-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// A machine is a directory with the file system of a pod, and its environment.
type machine struct {
	t      *testing.T
	dir    string
	binary string
	paths  *strings.Replacer // replaces paths of the pod
	env    []string
}

// secretsOf returns the contents of the Secrets in the examples.
func secretsOf(t *testing.T) map[string]map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return map[string]map[string]string{
		"shop-api":       {"key": "secret"},
		"uimgate-db-app": {"uri": "postgresql://uimgate:secret@127.0.0.1:1/uimgate"},
		"uimgate-db":     {"password": "secret", "ca.crt": cert},
		"shop-tls":       {"tls.crt": cert, "tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))},
	}
}

// newMachine creates the volumes of a pod as a kubelet does.
func newMachine(t *testing.T, r *release) *machine {
	t.Helper()
	binary, err := uimgate()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: t.TempDir(), binary: binary}
	var replace []string
	volumes := map[string]core.Volume{}
	for _, v := range r.pod.Spec.Volumes {
		volumes[v.Name] = v
	}
	mounts := slices.Clone(r.gateway.VolumeMounts)
	slices.SortFunc(mounts, func(a, b core.VolumeMount) int { return len(b.MountPath) - len(a.MountPath) })
	secrets := secretsOf(t)
	for _, mount := range mounts {
		here := filepath.Join(m.dir, mount.MountPath)
		if mount.MountPath != "/tmp" {
			replace = append(replace, mount.MountPath, here)
		}
		if err := os.MkdirAll(here, 0o755); err != nil {
			t.Fatal(err)
		}
		switch v := volumes[mount.Name]; {
		case v.Projected != nil:
			m.project(here, one[*core.ConfigMap](r).Data)
		case v.Secret != nil:
			if secrets[v.Secret.SecretName] == nil {
				t.Fatalf("the examples lack the Secret %s", v.Secret.SecretName)
			}
			m.project(here, secrets[v.Secret.SecretName])
		default: // group-writable, as with fsGroup
			if err := os.Chmod(here, 0o775|os.ModeSetgid); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.paths = strings.NewReplacer(replace...)
	text := one[*core.ConfigMap](r).Data
	m.project(filepath.Join(m.dir, "etc/uimgate"), m.local(text))
	m.env = []string{"PATH=/nowhere"}
	for _, e := range r.gateway.Env {
		if e.Name != "UIMGATE_LISTEN" {
			m.env = append(m.env, e.Name+"="+m.paths.Replace(e.Value))
		}
	}
	m.env = append(m.env, "UIMGATE_LISTEN=:0", "UIMGATE_ADMIN_LISTEN=127.0.0.1:0")
	return m
}

// local replaces the paths of the pod in the configuration, and the port for probes, which may be in use on this machine.
func (m *machine) local(files map[string]string) map[string]string {
	files = maps.Clone(files)
	files["uimgate.yaml"] = strings.Replace(m.paths.Replace(files["uimgate.yaml"]), "listen: :8082", "listen: 127.0.0.1:0", 1)
	return files
}

var revisions int

// project writes files as a kubelet does: into a new directory, and then it replaces the link to the directory.
func (m *machine) project(dir string, files map[string]string) {
	m.t.Helper()
	revisions++
	revision := "..revision-" + strconv.Itoa(revisions)
	failed := os.Mkdir(filepath.Join(dir, revision), 0o755)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, revision, name), []byte(text), 0o644); err != nil {
			failed = err
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			failed = err
		}
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	if err := os.Symlink(revision, filepath.Join(dir, "..data_tmp")); err != nil {
		failed = err
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		failed = err
	}
	if old != "" {
		_ = os.RemoveAll(filepath.Join(dir, old))
	}
	if failed != nil {
		m.t.Fatalf("got %v, want nil", failed)
	}
}

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	for i, a := range args {
		args[i] = m.paths.Replace(a)
	}
	c := exec.CommandContext(ctx, m.binary, args...)
	c.Env, c.Dir = m.env, "/"
	return c
}

// TestConfigurationIsGood runs uimgate check on the mounted configuration of each variant.
func TestConfigurationIsGood(t *testing.T) {
	each(t, func(t *testing.T, r *release) {
		m := newMachine(t, r)
		if _, err := os.Stat(filepath.Join(m.dir, "etc/uimgate/rooms.agents.json")); err != nil {
			text := one[*core.ConfigMap](r).Data
			m.project(filepath.Join(m.dir, "etc/uimgate"), m.local(withRooms(text)))
		}
		out, err := m.command(t.Context(), "check", "-c", "/etc/uimgate/uimgate.yaml").CombinedOutput()
		warnings, missing := strings.Count(string(out), ": warning: "), strings.Count(string(out), ": warning: store: cannot be read")
		if err != nil || warnings != missing { // the databases of the examples do not exist here
			t.Errorf("%v: %s\n%s", err, out, one[*core.ConfigMap](r).Data["uimgate.yaml"])
		}
	})
}

// withRooms adds the files that the examples keep in another ConfigMap.
func withRooms(files map[string]string) map[string]string {
	files = maps.Clone(files)
	for _, name := range []string{"agents.json", "policy.json"} {
		files["rooms."+name] = strings.ReplaceAll(files[name], "shop.example", "rooms.example")
	}
	return files
}

// TestPodServes starts the command of a pod, sends the probes, and replaces the ConfigMap while it runs.
func TestPodServes(t *testing.T) {
	r := render(t, "shop", values(t, "sqlite"))
	m := newMachine(t, r)
	c := m.command(t.Context(), r.gateway.Args...)
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Listen, Telemetry string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, line, log.Bytes())
	}

	get := func(path string) (int, string) {
		t.Helper()
		response, err := http.Get(ready.Telemetry + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	for what, probe := range map[string]*core.Probe{
		"startup": r.gateway.StartupProbe, "liveness": r.gateway.LivenessProbe, "readiness": r.gateway.ReadinessProbe,
	} {
		if status, body := get(probe.HTTPGet.Path); status != http.StatusOK {
			t.Errorf("the %s probe: status %d, %s; want %v", what, status, body, http.StatusOK)
		}
	}

	// The command in NOTES.txt, and the first command of helm test.
	if out, err := m.command(t.Context(), "status", "--data", r.config.Data).CombinedOutput(); err != nil {
		t.Errorf("status: %v %s", err, out)
	}
	test := one[*core.Pod](r).Spec.Containers[0]
	args := slices.Clone(test.Args)
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "http://") })
	args[i] = strings.Replace(ready.Listen, "[::]", "127.0.0.1", 1)
	args[slices.Index(args, "/tmp")] = filepath.Join(m.dir, "tmp")
	if out, err := m.command(t.Context(), args...).CombinedOutput(); err != nil || !strings.Contains(string(out),
		"shop.example:get-product:v1") {
		t.Errorf("%q: %v %s", args, err, out)
	}

	// A change of the ConfigMap is applied, and an invalid one is rejected.
	metric := func(name string) string {
		_, text := get("/metrics")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, name) {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("timeout while waiting for %s:\n%s", what, log.Bytes())
			}
		}
	}
	before, files := metric("uimgate_config_info"), m.local(one[*core.ConfigMap](r).Data)
	changed := maps.Clone(files)
	changed["policy.json"] = strings.Replace(files["policy.json"], "1000", "2000", 1)
	m.project(filepath.Join(m.dir, "etc/uimgate"), changed)
	until("the new policy", func() bool { return metric("uimgate_config_info") != before })
	successes := metric("uimgate_config_last_reload_success_timestamp_seconds")
	m.project(filepath.Join(m.dir, "run/secrets/uimgate/shop-api"), map[string]string{"key": "rotated"})
	until("the new secret", func() bool { return metric("uimgate_config_last_reload_success_timestamp_seconds") != successes })
	changed["policy.json"] = "{}"
	m.project(filepath.Join(m.dir, "etc/uimgate"), changed)
	until("the refusal", func() bool {
		return metric("uimgate_config_last_reload_successful") == "uimgate_config_last_reload_successful 0"
	})

	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log.Bytes())
	}
}
