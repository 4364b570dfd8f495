/** The `--open` command for the fixture server. It cannot play a person without a session, so the suite skips those checks. */
const { MCP_CONFORMANCE_URL: page = '', MCP_CONFORMANCE_PERSON: person = '' } = process.env;
const user = { owner: 'alice', stranger: 'bob' }[person];
if (user === undefined) process.exitCode = 77;
else await fetch(page, { method: 'POST', headers: { 'x-user': user } });
