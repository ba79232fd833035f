package aea

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	"github.com/uimgate/uimgate/bindings/aea/skill/echo"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A SkillFactory returns a new skill for the agent that runs in r. It may register protocols with r.Resources. Errors are shown to the
// operator.
type SkillFactory func(r *runtime.Runtime) (runtime.Skill, error)

// factories has the skills that programs add.
var factories = struct {
	sync.RWMutex
	byName map[string]SkillFactory
}{byName: map[string]SkillFactory{}}

// RegisterSkill makes a skill available under a name for doors.aea.skills.own. Call it before the configuration is read, such as in the
// init function of a package that the program imports. It panics if the name is empty or taken.
func RegisterSkill(name string, f SkillFactory) {
	factories.Lock()
	defer factories.Unlock()
	if name == "" || f == nil || factories.byName[name] != nil {
		panic("aea: the skill " + name + " has no name or no function, or is registered twice")
	}
	factories.byName[name] = f
}

func factory(name string) SkillFactory {
	factories.RLock()
	defer factories.RUnlock()
	return factories.byName[name]
}

// factoryNames returns the names of the skills that programs add.
func factoryNames() []string {
	factories.RLock()
	defer factories.RUnlock()
	return slices.Sorted(maps.Keys(factories.byName))
}

// skills are the skills of one agent besides intents, as last configured.
type skills struct {
	mu        sync.Mutex
	directory *directory.Skill         // nil: off
	added     map[string]wire.PublicID // ids of the other skills, by the name in the configuration
}

// follow adds and removes skills of a running or new agent, as the settings want, and passes the other settings that may change to the
// skill intents. It returns the errors of skills that cannot be added; all others are added.
func (a *agent) follow(ctx context.Context, set *Settings, c directory.Config) error {
	a.skills.mu.Lock()
	defer a.skills.mu.Unlock()
	resources := a.runtime.Resources()
	wanted := map[string]SkillFactory{}
	if set.Skills.Echo {
		wanted["echo"] = func(*runtime.Runtime) (runtime.Skill, error) { return echo.Skill(), nil }
	}
	for _, name := range set.Skills.Own {
		wanted["own/"+name] = factory(name)
	}
	for name, id := range a.skills.added {
		if wanted[name] == nil {
			_ = resources.Remove(id) // the agent has it
			delete(a.skills.added, name)
		}
	}
	emptied := false
	switch {
	case set.Skills.Search && a.skills.directory == nil:
		d := directory.New(c)
		if err := resources.Add(d.Skill()); err != nil {
			d.Close()
			return err
		}
		a.skills.directory, emptied = d, true
	case !set.Skills.Search && a.skills.directory != nil:
		_ = resources.Remove(directory.ID)
		a.skills.directory.Close()
		a.skills.directory = nil
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, has := a.skills.added[name]; has {
			continue
		}
		s, err := wanted[name](a.runtime)
		if err == nil {
			err = resources.Add(s)
		}
		if err != nil {
			failed = fmt.Errorf("skills: %s: %w", name, err)
			continue
		}
		a.skills.added[name] = s.ID
	}
	a.skill.Change(ctx, skill.Variables{
		Location: set.location, Attributes: set.aliases(), Echo: set.Skills.Echo,
		Directory: skill.Directory{Address: set.Directory.Address, Connection: ids[set.Directory.Connection]},
	}, emptied)
	return failed
}
