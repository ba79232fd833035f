package config

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// A Block is a part of the configuration that a module reads. Key is its key in the enclosing mapping, and Doc its description.
type Block struct {
	Key, Doc string
	// Restart means that changes take effect only when the process restarts.
	Restart bool
	// Paths are the paths of the public listener that are reserved for the module.
	Paths []string
	// Settings is a pointer to the struct into which the block is decoded. Only its type is used, so the pointer may be nil. The struct has
	// the tags of package yamlconf.
	Settings Settings
}

// Blocks are the blocks of all modules.
type Blocks struct {
	Doors  []Block // in services[].doors
	Beside []Block // at the level of services
}

// Settings are the values of a block. If a document does not have the block, its Settings have the defaults of their tags.
type Settings interface {
	// Check checks the values and reads the files that they name. It is called once, after every value of the document has been read.
	Check(b *BlockCheck)
	// Open reports whether the block opens its door or module. It is called after Check.
	Open() bool
}

// DoorBlocks are the blocks of one service.
type DoorBlocks any

// ModuleBlocks are the blocks at the level of services.
type ModuleBlocks any

// types returns the types for decoding a configuration with these blocks.
func (b Blocks) types() yamlconf.Types {
	return yamlconf.Types{Scalars: scalars, Structs: map[reflect.Type]reflect.Type{
		reflect.TypeFor[DoorBlocks](): structOf(b.Doors), reflect.TypeFor[ModuleBlocks](): structOf(b.Beside),
	}}
}

// structOf returns a struct type with a field for each block.
func structOf(blocks []Block) reflect.Type {
	fields := make([]reflect.StructField, 0, len(blocks))
	for i, b := range blocks {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Block%d", i), Type: reflect.TypeOf(b.Settings).Elem(),
			Tag: reflect.StructTag(fmt.Sprintf("yaml:%q doc:%q restart:\"%t\"", b.Key, b.Doc, b.Restart)),
		})
	}
	return reflect.StructOf(fields)
}

// settingsIn returns the settings in a DoorBlocks or ModuleBlocks, by key. If blocks is nil, the map is empty.
func settingsIn(blocks any) map[string]Settings {
	in := map[string]Settings{}
	if blocks == nil {
		return in
	}
	for key, v := range yamlconf.Values(reflect.ValueOf(blocks).Elem()) {
		if s, ok := reflect.TypeAssert[Settings](v.Addr()); ok {
			in[key] = s
		}
	}
	return in
}

// OpenDoors returns the settings of the doors that a service opens, by key.
func (s *Service) OpenDoors() map[string]Settings {
	open := settingsIn(s.Doors)
	maps.DeleteFunc(open, func(_ string, s Settings) bool { return !s.Open() })
	return open
}

// Module returns the settings of a block at the level of services; nil if no module has that block.
func (c *Config) Module(key string) Settings { return settingsIn(c.Modules)[key] }

// SetDefaults sets settings to the defaults of their tags.
func SetDefaults(settings Settings) {
	none := func(string) (string, bool) { return "", false }
	yamlconf.Decode(nil, settings, yamlconf.Options{Types: Blocks{}.types(), Env: none})
}

// A BlockCheck is passed to the Check method of Settings. The keys of its methods are relative to the block, such as path or rules["x"];
// the empty key means the block itself.
type BlockCheck struct {
	Config  *Config
	Service *Service // the block's service; nil at the level of services

	loader  *loader
	at      string // path of the block
	service int    // index of Service; -1 at the level of services
}

// uniqueValues are the values that only one block of a configuration may have.
type uniqueValues struct {
	paths     map[int][]pathClaim // paths of the public listener, by service
	listeners map[string]string   // addresses, by the path of the key
	seeds     map[string]int      // seed of an identity to the service that uses it
	own       map[string]bool     // paths of modules: Block.Paths
}

type pathClaim struct{ block, path string }

// checkBlocks checks the blocks of one service or, if the index is negative, those at the level of services.
func (l *loader) checkBlocks(at string, kinds []Block, blocks any, c *Config, service int) {
	settings := settingsIn(blocks)
	for _, b := range kinds {
		where := b.Key
		if at != "" {
			where = at + "." + b.Key
		}
		check := &BlockCheck{Config: c, loader: l, at: where, service: service}
		if service >= 0 {
			check.Service = &c.Services[service]
		}
		settings[b.Key].Check(check)
	}
}

func (b *BlockCheck) path(key string) string {
	if key == "" {
		return b.at
	}
	return b.at + "." + key
}

// Has reports whether the document sets a key, so that the value is not only the default.
func (b *BlockCheck) Has(key string) bool { return b.loader.Has(b.path(key)) }

// HasBeside reports whether the document has a block with this key at the level of services.
func (b *BlockCheck) HasBeside(key string) bool { return b.loader.Has(key) }

// Errorf reports an error. A configuration with an error cannot be served.
func (b *BlockCheck) Errorf(key, format string, args ...any) {
	b.loader.Errorf(b.path(key), format, args...)
}

// Warnf reports a warning. A configuration with warnings can be served.
func (b *BlockCheck) Warnf(key, format string, args ...any) {
	b.loader.Warnf(b.path(key), format, args...)
}

// Shared reports whether several processes may serve this configuration on one store.
func (b *BlockCheck) Shared() bool { return b.Config.Store.Engine == Postgres }

// Loopback reports whether a host is localhost or a loopback address, so that only this machine can reach it.
func (b *BlockCheck) Loopback(host string) bool { return loopback(host) }

// File resolves name relative to the directory of the configuration file. It does not change an absolute path.
func (b *BlockCheck) File(name string) string { return b.loader.files.path(name) }

// Printable reports whether text is one line of at most 8192 bytes without control characters.
func (b *BlockCheck) Printable(text string) bool {
	return printable(text) && !strings.Contains(text, "\t")
}

// Secret reads the file of a secret, of at most 64 KiB. It returns false if f has no path, or if the file cannot be read, which it reports
// as an error. After the call, f has only its path.
func (b *BlockCheck) Secret(key string, f *File) (data []byte, ok bool) {
	ok = b.loader.readInto(b.path(key), f, maxSecretFile, true)
	data = f.Data
	f.Data, f.SHA256 = nil, ""
	return data, ok
}

// Identity reports an error if another service uses the same seed: with one identity, a message that is signed for one service would also
// be valid for the other. The error does not contain the seed.
func (b *BlockCheck) Identity(key string, seed Secret) {
	seeds := b.loader.claimed.seeds
	if first, twice := seeds[seed.Reveal()]; twice {
		b.Errorf(key, "its seed already belongs to services[%d]: give each service a different seed", first)
		return
	}
	seeds[seed.Reveal()] = b.service
}

// OwnKey warns if f, which is the value of key_file, is empty and several processes may share the store: each would create its own key.
func (b *BlockCheck) OwnKey(f File) {
	if f.Path == "" && b.Shared() {
		b.Warnf("", "its key_file is empty: each gateway on this store would be a different agent; give all of them the same file")
	}
}

// Listener checks that an address is valid for a listener and that no other listener uses it, and reserves the address. It skips an empty
// address.
func (b *BlockCheck) Listener(key, address string) {
	if address == "" {
		return
	}
	at := b.path(key)
	if _, ok := b.loader.listenAddress(at, address); !ok {
		return
	}
	for _, other := range b.loader.listenersAt(address) {
		b.Errorf(key, "%s is also the address of %s: choose another", address, other)
	}
	b.loader.claimed.listeners[at] = address
}

// Path reports an error if p is not a valid path of the public listener, of at most 200 bytes, or if p is reserved for the gateway.
func (b *BlockCheck) Path(key, p string) {
	const most = 200
	switch {
	case !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p || len(p) > most || strings.ContainsFunc(p, notOfPath):
		b.Errorf(key, "%s is not a path: want one such as /mcp, with only letters, digits and . _ - /", yamlconf.Quote(p))
	case slices.Contains(ownFiles, p) || b.loader.claimed.own[p] ||
		slices.ContainsFunc(ownPaths, func(own string) bool { return Within(p, own) }):
		b.Errorf(key, "%s is reserved for the gateway: choose another path", yamlconf.Quote(p))
	}
}

// Claim reserves a path of the public listener, and all paths below it, for the block. It reports an error if the path overlaps with one
// that another block of the service has reserved.
func (b *BlockCheck) Claim(key, p string) {
	paths := b.loader.claimed.paths
	for _, other := range paths[b.service] {
		if other.block != b.at && (Within(p, other.path) || Within(other.path, p)) {
			b.Errorf(key, "%s and %s overlap: choose another path", yamlconf.Quote(p), yamlconf.Quote(other.path))
		}
	}
	paths[b.service] = append(paths[b.service], pathClaim{b.at, p})
}

// ownPaths are reserved for the gateway, with all paths below them.
var ownPaths = []string{"/api", "/uim", "/pat", "/.well-known", "/errors", "/discovery", "/oauth"}

// ownFiles are single paths that are reserved for the gateway.
var ownFiles = []string{"/agents.json", "/openapi.json", "/policy.json", "/uim-policy.json", "/favicon.svg", "/favicon.ico"}

func notOfPath(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
}

// Within reports whether a path equals another one, or is below it.
func Within(p, other string) bool { return p == other || strings.HasPrefix(p, other+"/") }
