package words

import (
	"cmp"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// verbs describe the actions of ODRL V 2.2 and of the UIM profile. The asset replaces %.
var verbs = map[string]string{
	"use": "use % in any way", "transfer": "transfer ownership of %", "give": "give % away, keeping no copy",
	"sell":           "sell %, keeping no copy",
	"acceptTracking": "accept that the use of % is tracked", "adHocShare": "share % with people close by",
	"aggregate": "use % as part of a collection",
	"analyze":   "analyze %", "annotate": "add notes to %", "anonymize": "make % anonymous", "archive": "keep % for the long term",
	"attribute": "name the source of %", "compensate": "pay for %", "concurrentUse": "use several copies of % at once",
	"delete": "delete all copies of %",
	"derive": "make something new from %", "digitize": "turn % into digital form", "display": "display %",
	"distribute":        "hand out % to others",
	"ensureExclusivity": "make sure that the rule on % is exclusive", "execute": "execute %", "extract": "take parts out of %",
	"extractChar": "take characters out of %", "extractPage": "take pages out of %", "extractWord": "take words out of %",
	"grantUse": "grant the use of % to others", "include": "make % part of another asset", "index": "list % in an index",
	"inform": "inform others of the use of %", "install": "install %", "lease": "lease % to others", "lend": "lend % to others",
	"logUsage": "keep a log of the use of %", "modify": "change %", "move": "move %, leaving no copy behind",
	"nextPolicy":    "grant others the use of it under the terms of %",
	"obtainConsent": "obtain consent to the use of %", "play": "play %", "present": "perform % in public",
	"preview": "see a short preview of %",
	"print":   "print %", "read": "read %", "reproduce": "make copies of %", "reviewPolicy": "review the policy of %",
	"secondaryUse": "use % for a purpose other than the original one",
	"signPayload":  "sign each call of %", "stream": "deliver % in real time", "synchronize": "use % in step with other media",
	"textToSpeech": "have % read aloud",
	"transform":    "convert % to another format", "translate": "translate %", "uninstall": "uninstall %", "watermark": "put a watermark on %",
	"exceedRateLimit": "exceed the limits on the use of %",
	"Attribution":     "credit the author of %", "CommercialUse": "use % commercially", "DerivativeWorks": "publish works derived from %",
	"Distribution": "publish %", "Notice": "keep the copyright and licence notices of %", "Reproduction": "make copies of %",
	"ShareAlike": "publish works derived from % under the same terms", "Sharing": "publish works derived from % without selling them",
	"SourceCode": "provide the source code of %",
}

// about describes actions in a duty that names no asset.
var about = map[string]string{
	"acceptTracking": "accept that this is tracked", "attribute": "name the source", "inform": "inform others of it",
	"logUsage":      "keep a log of it",
	"nextPolicy":    "grant others the use of it under the policy that is named",
	"obtainConsent": "obtain consent to it", "reviewPolicy": "review the policy", "signPayload": "sign each call",
}

// toward describes actions in a duty that names a party with the given function. The party replaces &.
var toward = map[string]struct{ function, verb, about string }{
	"acceptTracking": {"trackingParty", "accept that the use of % is tracked by &", "accept that this is tracked by &"},
	"attribute":      {"attributedParty", "name & as the source of %", "name & as the source"},
	"inform":         {"informedParty", "inform & of the use of %", "inform & of it"},
	"obtainConsent":  {"consentingParty", "obtain the consent of & to the use of %", "obtain the consent of & to it"},
}

// verb describes an action on an asset, with the words of a vocabulary if it has any for the action.
func (r phraser) verb(action, what string) string {
	words := r.Names.WordsOf(action)
	switch {
	case words == "":
		return verb(action, what)
	case what == "":
		return "perform the action " + words
	default:
		return "perform the action " + words + " on " + what
	}
}

// verb describes an action for which no vocabulary has words. An unknown action is written as in the document.
func verb(action, what string) string {
	v, known := verbs[action]
	switch {
	case !known && what == "":
		return "perform the action " + model.Quote(action)
	case !known:
		return "perform the action " + model.Quote(action) + " on " + what
	case what == "" && about[action] != "":
		return about[action]
	}
	return fill(v, what, "")
}

// fill puts an asset and a party into a verb.
func fill(verb, what, who string) string {
	what = cmp.Or(what, "the asset")
	var b strings.Builder
	for _, r := range verb { // one pass: what and who are from the document, and may contain % and &
		switch r {
		case '%':
			b.WriteString(what)
		case '&':
			b.WriteString(who)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
