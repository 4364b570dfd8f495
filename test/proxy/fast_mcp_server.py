"""A server of FastMCP with all that it offers, over HTTP. Prints its port."""

import socket

import uvicorn
from fastmcp import Context, FastMCP
from mcp_types import InputRequiredResult, ListRootsRequest, SamplingMessage, TextContent

mcp = FastMCP("foreign", version="1.0.0", instructions="Tools for a test")


@mcp.tool
def echo(text: str) -> str:
    """Returns its text."""
    return text


@mcp.tool(annotations={"readOnlyHint": True})
def add(a: int, b: float) -> dict[str, float]:
    """Has a structured result."""
    return {"sum": a + b}


@mcp.tool
async def tell(ctx: Context) -> str:
    """Logs, and tells its progress."""
    await ctx.info("started")
    await ctx.report_progress(1, 2, "half")
    await ctx.report_progress(2, 2, "done")
    return "told"


@mcp.tool
async def ask(ctx: Context) -> str:
    """Asks the user."""
    return (await ctx.elicit("Name?", response_type=str)).action


@mcp.tool
async def sample(ctx: Context) -> str:
    """Asks the model, before 2026-07-28."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say something"))
    result = await ctx.session.create_message([message], max_tokens=5, related_request_id=ctx.request_id)
    return result.model


@mcp.tool
async def rounds(ctx: Context) -> str | InputRequiredResult:
    """Asks for folders with a state, since 2026-07-28."""
    if ctx.request_state == "asked":
        return f"{ctx.input_responses}"
    return InputRequiredResult(input_requests={"folders": ListRootsRequest()}, request_state="asked")


@mcp.tool
def fail() -> str:
    """Fails."""
    raise ValueError("as it should")


@mcp.resource("test://static", mime_type="text/plain")
def static() -> str:
    return "static"


@mcp.resource("test://things/{name}", mime_type="application/json")
def thing(name: str) -> dict[str, str]:
    return {"name": name}


@mcp.prompt
def greet(name: str) -> str:
    """Greets."""
    return f"Hello, {name}"


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(mcp.http_app(path="/mcp"), log_level="error")
uvicorn.Server(config).run(sockets=[listener])
