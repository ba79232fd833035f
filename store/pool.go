package store

import (
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A Pool is the common debt of the unapproved agents of a service in one currency.
type Pool struct {
	Owed    money.Amount // the sum of their debts
	Counted money.Amount // the part that counts towards their common credit; the rest has faded: see PoolFades
	Users   []PoolUser   // the agents that owe most, the largest debt first
}

// A PoolUser is an unapproved agent with a debt.
type PoolUser struct {
	AgentID pat.AgentID
	Owed    money.Amount
}
