import {
  acceptedContent,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Of SEP-1034: a default for every primitive type. */
const defaultsSchema: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  required: [],
};

const titled = (label: string) =>
  ['First', 'Second', 'Third'].map((ordinal, at) => ({ const: `value${at + 1}`, title: `${ordinal} ${label}` }));

/** Of SEP-1330: every kind of enumeration. */
const enumsSchema: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
  required: [],
};

const userSchema: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};

const nameSchema = z.object({ name: z.string() });
const contextSchema = z.object({ context: z.string() });

/** Form mode, which is the SDK's in both eras. */
export function registerFormTools(mcpServer: McpServer): void {
  const form = async (message: string, requestedSchema: ElicitRequestFormParams['requestedSchema']) => {
    const { action, content } = await mcpServer.server.elicitInput({ mode: 'form', message, requestedSchema });
    return {
      content: [
        {
          type: 'text' as const,
          text: `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`,
        },
      ],
    };
  };
  mcpServer.registerTool(
    'test_elicitation',
    { description: 'asks for a user', inputSchema: z.object({ message: z.string() }) },
    ({ message }) => form(message, userSchema),
  );
  mcpServer.registerTool('test_elicitation_sep1034_defaults', { description: 'asks with defaults' }, () =>
    form('Check your profile', defaultsSchema),
  );
  mcpServer.registerTool('test_elicitation_sep1330_enums', { description: 'asks with enumerations' }, () =>
    form('Choose', enumsSchema),
  );

  mcpServer.registerTool(
    'test_input_required_result_elicitation',
    { description: 'asks for a name' },
    async ({ mcpReq }) => {
      const user = acceptedContent(mcpReq.inputResponses, 'user_name', nameSchema);
      if (user === undefined) return ask('user_name', 'What is your name?', nameSchema);
      return { content: [{ type: 'text', text: `Hello, ${user.name}!` }] };
    },
  );

  mcpServer.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'asks for a context' },
    async ({ mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'user_context', contextSchema);
      if (given === undefined) return ask('user_context', 'What context should the prompt use?', contextSchema);
      return { messages: [{ role: 'user', content: { type: 'text', text: given.context } }] };
    },
  );
}

function ask(key: string, message: string, requestedSchema: z.ZodObject): InputRequiredResult {
  return inputRequired({ inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema }) } });
}
