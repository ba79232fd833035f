// Package sqlitetest holds an SQLite database for tests to copy, because making the schema takes longer than most of them:
//
//	sqlitetest.Empty.Copy(t, config.StatePath(dir))
package sqlitetest

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest"
)

// Empty is the database of a gateway that was never used.
var Empty = storetest.NewTemplate(func(path string) error {
	s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})
