package page

import "maps"

// field describes a header field of a response.
func field(description string) tree {
	return tree{"description": description, "schema": tree{"type": "string"}}
}

// takenHeaders describes the header fields about limits and charges in all responses to calls.
func takenHeaders() tree {
	return tree{
		"RateLimit":            field("The number of calls left (r), and the seconds until the oldest counted call leaves the window (t)."),
		"RateLimit-Policy":     field("The limits: the number of calls (q), and the period in seconds (w)."),
		"UIM-Receipt":          field("The signed ledger entry for the charge: a compact JWS of typ uim-receipt+jwt."),
		"UIM-Charge":           field("The cost of the call, with the id of the execution, and whether it is held, captured or released."),
		"Idempotency-Replayed": field("true: the response was stored under the Idempotency-Key, and the call was not executed again."),
	}
}

// sunsetHeaders describes the header fields about the end of a document or an intent.
func sunsetHeaders() tree {
	return tree{
		"Deprecation": field("When the change of terms was announced: @ and a Unix time (RFC 9745)."),
		"Sunset":      field("When the intent or its terms end (RFC 8594)."),
		"Link":        field("The policy or the intent that replaces this one, with rel=\"successor-version\"."),
	}
}

// resultHeaders describes the header fields of a response with the output of an intent.
func resultHeaders(license string) tree {
	out := takenHeaders()
	maps.Copy(out, sunsetHeaders())
	out["UIM-Request-ID"] = field("Identifies the call in the log of the service.")
	out["UIM-Warning"] = field("A required output that the service did not return, or a limit or budget that is nearly or completely used.")
	out["UIM-Attribution"] = field("A notice that a duty of the policy requires with the output.")
	if license != "" {
		out["UIM-License"] = field("The license of the output: " + license)
	}
	return out
}

// refused describes every error response. more describes header fields in addition to those of all errors.
func refused(more tree) tree {
	headers := tree{
		"UIM-Request-ID":   field("Identifies the request in the log of the service."),
		"Retry-After":      field("Seconds to wait before repeating the request."),
		"WWW-Authenticate": field("With status 401: what is wrong with the PAT (RFC 6750)."),
	}
	maps.Copy(headers, more)
	return tree{
		"description": "An error: what is wrong, where, and what to do.", "headers": headers,
		"content": tree{"application/json": tree{"schema": tree{"$ref": component("Error")}}},
	}
}

func errorSchema() tree {
	text := tree{"type": "string"}
	described := func(description string) tree { return tree{"type": "string", "description": description} }
	return tree{
		"type": "object", "required": []any{"error"}, "description": "The response to every call that is refused or fails.",
		"properties": tree{"error": tree{
			"type": "object", "required": []any{"code", "message", "details"},
			"properties": tree{
				"code":    described("The class of the error, such as INVALID_PARAMETER or FORBIDDEN."),
				"message": text,
				"details": tree{
					"type": "object", "required": []any{"reason"},
					"properties": tree{
						"reason":      described("The exact cause, such as PARAMETER_OUT_OF_RANGE."),
						"help_url":    tree{"type": "string", "format": "uri", "description": "The page that explains the reason."},
						"request_id":  described("Identifies the request in the log of the service."),
						"uim_code":    text,
						"suggestion":  described("Advice on how to proceed."),
						"retry_after": tree{"type": "integer", "minimum": 1, "description": "Seconds."},
						"outcome": tree{
							"type": "string", "enum": []any{"not_sent", "failed", "done", "unknown"},
							"description": "For a failed call: whether it may have taken effect.",
						},
						"violations": tree{"type": "array", "items": tree{"type": "object", "properties": tree{
							"pointer": described("A JSON pointer (RFC 6901) into the whole request body."),
							"keyword": text, "reason": text, "message": text, "limit": tree{},
						}}},
						"charge": tree{"type": "object", "description": "As in UIM-Charge.", "properties": tree{
							"amount": text, "currency": text, "id": text, "state": text,
						}},
						"limit":        described("The limit that is exhausted, such as 5/hour."),
						"rule":         described("The rule of the policy that decided, as its uid or a JSON pointer."),
						"scope_needed": described("The entry of a scope that the PAT lacks."),
						"execution_id": described("The earlier call with the same Idempotency-Key."),
						"policy": tree{"type": "object", "description": "The policy to agree to.", "properties": tree{
							"uid": text, "digest": text, "url": text,
						}},
						"agreed_digest": described("The digest of the policy that the agent agreed to."),
						"issuer":        described("The issuer with which a fresh agreement is needed."),
						"changes": tree{
							"type": "array", "description": "The changes since the agreed policy, in words.",
							"items": tree{"type": "object", "properties": tree{"effect": text, "old": text, "new": text, "about": text, "text": text}},
						},
						"upstream": tree{"type": "object", "description": "The error of the service behind the gateway.", "properties": tree{
							"status": tree{"type": "integer"}, "message": text,
						}},
						"nearest":            described("An intent with a similar uid."),
						"versions":           tree{"type": "array", "items": text, "description": "The other versions of the intent."},
						"replaced_by":        described("The intent that replaces a retired one."),
						"suggested_agent_id": described("An agent_id that is available for the key."),
						"agent_id":           described("The agent_id that the key already has."),
					},
				},
			},
		}},
	}
}
