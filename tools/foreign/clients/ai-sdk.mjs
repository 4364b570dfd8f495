import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { consent, headers, play, tool, url } from './play.mjs';

const client = await createMCPClient({
  transport: { type: 'http', url, headers },
  // Its handler takes forms only, so the application must not declare URL mode.
  capabilities: { elicitation: {} },
});
client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => consent(params.url));
const tools = await client.tools();
await play(() => tools[tool].execute({}, { toolCallId: '1', messages: [] }));
