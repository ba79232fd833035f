"""Agent and Tool of pydantic-ai-slim."""


class Tool:
    def __init__(self, function, name, description, json_schema, takes_ctx):
        self.function, self.name, self.description, self.json_schema, self.takes_ctx = function, name, description, json_schema, takes_ctx

    @classmethod
    def from_schema(cls, function, name, description, json_schema, takes_ctx=False):
        return cls(function, name, description, json_schema, takes_ctx)


class Agent:
    def __init__(self, model, *, tools=(), defer_model_check=False):
        self.model, self.tools = model, list(tools)
