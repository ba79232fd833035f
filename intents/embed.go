package intents

import "github.com/uimgate/uimgate/internal/strictjson"

// InputSchemaAt is InputSchema for a place inside a larger document: base is the fragment under which the schema will
// be placed, such as #/components/schemas/search. References inside the schema are rewritten accordingly.
func (i *Intent) InputSchemaAt(base string) strictjson.Object { return schemaAt(i.InputSchema(), base) }

// OutputSchemaAt is OutputSchema for a place inside a larger document; nil where the intent declares no
// outputs.
func (i *Intent) OutputSchemaAt(base string) strictjson.Object {
	if len(i.Outputs) == 0 {
		return nil
	}
	return schemaAt(i.OutputSchema(), base)
}

func schemaAt(schema map[string]any, base string) map[string]any {
	moved, _ := rebase(schema, base).(map[string]any) // an object stays one
	return moved
}
