"""StructuredTool of langchain-core 0.3, whose args_schema may be a JSON Schema."""


class StructuredTool:
    def __init__(self, *, name, description, args_schema, func=None, coroutine=None):
        if func is None and coroutine is None:
            raise ValueError("a tool needs a function")
        self.name, self.description, self.args_schema, self.func, self.coroutine = name, description, args_schema, func, coroutine

    def invoke(self, parameters):
        if self.func is None:
            raise NotImplementedError("StructuredTool does not support sync invocation.")
        return self.func(**parameters)

    async def ainvoke(self, parameters):
        return await self.coroutine(**parameters) if self.coroutine else self.func(**parameters)
