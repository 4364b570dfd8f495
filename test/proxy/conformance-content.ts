import { completable, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** One red pixel. */
export const IMAGE = {
  type: 'image' as const,
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
};

/** A sound of no length: the header of a WAV file. */
export const AUDIO = {
  type: 'audio' as const,
  mimeType: 'audio/wav',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=',
};

/** Every resource that the official suite reads. */
export function registerConformanceResources(mcpServer: McpServer): void {
  const text = (name: string) =>
    mcpServer.registerResource(name, `test://${name}`, { mimeType: 'text/plain' }, async ({ href: uri }) => ({
      contents: [{ uri, mimeType: 'text/plain', text: `This is ${name}.` }],
    }));
  text('static-text');
  text('watched-resource');
  mcpServer.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png' },
    async ({ href: uri }) => ({ contents: [{ uri, mimeType: 'image/png', blob: IMAGE.data }] }),
  );
  mcpServer.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    async ({ href: uri }, { id }) => ({
      contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, data: `Data for ID: ${id}` }) }],
    }),
  );
}

const user = 'user' as const;
const text = (text: string) => ({ role: user, content: { type: 'text' as const, text } });

/** Every prompt that the official suite gets, but the one that asks. */
export function registerConformancePrompts(mcpServer: McpServer): void {
  mcpServer.registerPrompt('test_simple_prompt', { description: 'one text' }, async () => ({
    messages: [text('A simple prompt.')],
  }));
  mcpServer.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'two arguments',
      argsSchema: z.object({
        arg1: completable(z.string(), value => ['testing', 'tests'].filter(each => each.startsWith(value))),
        arg2: z.string(),
      }),
    },
    async ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  mcpServer.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri: uri }) => ({
      messages: [
        { role: user, content: { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'embedded' } } },
        text('Please process the embedded resource above.'),
      ],
    }),
  );
  mcpServer.registerPrompt('test_prompt_with_image', { description: 'an image' }, async () => ({
    messages: [{ role: user, content: IMAGE }, text('Please analyze the image above.')],
  }));
}
