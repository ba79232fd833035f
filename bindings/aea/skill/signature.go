package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// attributeSignature is the attribute of an offer with the signature of the service over the other attributes.
const attributeSignature = "offer_signature"

// OfferText returns the text that the service signs for an offer: the id of this skill, the address of the service, the address of the
// agent, and a line name=value for each attribute except the signature, sorted by name, separated by line feeds.
func OfferText(gateway, agent string, offer search.Description) string {
	lines := make([]string, 0, len(offer.Values))
	for _, v := range offer.Values {
		if v.Key != attributeSignature {
			lines = append(lines, fmt.Sprintf("%s=%v", v.Key, v.Value))
		}
	}
	slices.Sort(lines)
	return strings.Join(append([]string{ID.String(), gateway, agent}, lines...), "\n")
}

// signed adds the signature of the service to an offer to the sender of the message.
func (t *turn) signed(offer search.Description) search.Description {
	if t.Decisions == nil {
		return offer
	}
	signature, err := t.Decisions.Sign(ID, []byte(OfferText(t.Address, t.Sender, offer)))
	if err != nil {
		return offer // logged; the agent can agree without the signature
	}
	return search.Describe(offer.Model.Name, append(offer.Values, search.KeyValue{Key: attributeSignature, Value: search.Text(signature)})...)
}

// unsigned returns a counter-offer without the signature of the offer that it was made from.
func unsigned(counter search.Description) search.Description {
	counter.Values = slices.DeleteFunc(slices.Clone(counter.Values), func(v search.KeyValue) bool { return v.Key == attributeSignature })
	return counter
}
