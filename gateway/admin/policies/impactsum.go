package policies

import (
	"math/big"

	"github.com/uimgate/uimgate/internal/money"
)

// Add adds the next part of the same request to p.
func (p *PolicyImpact) Add(next PolicyImpact) {
	p.Calls += next.Calls
	p.Judged += next.Judged
	p.Unjudged.Undecided += next.Unjudged.Undecided
	p.Unjudged.Withheld += next.Unjudged.Withheld
	p.Unjudged.Failed += next.Unjudged.Failed
	p.Unjudged.Limited += next.Unjudged.Limited
	p.Refused.add(next.Refused)
	p.Admitted.add(next.Admitted)
	p.Repriced.add(next.Repriced)
	before, after := sums{}, sums{}
	for _, list := range [][]MoneyImpact{p.Money, next.Money} {
		for _, m := range list {
			before.addText(m.Currency, m.Before)
			after.addText(m.Currency, m.After)
		}
	}
	p.Money = moneyImpacts(before, after)
	p.Progress, p.Next = next.Progress, next.Next
}

func (s *ImpactSet) add(next ImpactSet) {
	s.Calls += next.Calls
	s.First = append(s.First, next.First[:min(len(next.First), maxImpactCalls-len(s.First))]...)
}

func (s sums) addText(currency, amount string) {
	if s[currency] == nil {
		s[currency] = new(big.Int)
	}
	s[currency].Add(s[currency], money.SumOf(amount))
}
