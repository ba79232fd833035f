package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest"
)

// The names under which the test binary is told to be the process that gets killed.
const (
	envPlace = "SQLSTORE_TEST_PLACE"
	envLife  = "SQLSTORE_TEST_LIFE"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(envPlace); place != "" {
		fmt.Fprintln(os.Stderr, work(context.Background(), place, os.Getenv(envLife)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func work(ctx context.Context, place, life string) error {
	s, err := sqlstore.Open(ctx, filepath.Join(place, "state.db"), sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return storetest.Work(ctx, s, life, os.Stdout)
}

func TestWhatWasAcknowledgedSurvivesTheKill(t *testing.T) {
	lives := 8
	if testing.Short() {
		lives = 2
	}
	storetest.Crash(t, openEngine, lives, func(place, life string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envPlace+"="+place, envLife+"="+life)
		return cmd
	})
}
