/** The part of MCP's `CallToolResult` that this package writes; the same in both eras and both SDKs. */
export interface PlainToolResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError: true;
  _meta?: { [key: string]: unknown };
}

/** Key of the `_meta` hint; its value has `url`, `matchCode` and `expiresAt`. */
export const ELICITATION_META_KEY = 'dev.postern/elicitation';

/** The text of a plain result, for MCP clients that show only the message of an error. */
export const textIn = ({ content }: PlainToolResult): string => content.map(({ text }) => text).join('\n');

/**
 * The tool did not do what it was called for, so the result says `isError`. It also has to: SDKs demand structured
 * content of a tool with an output schema unless the result is an error.
 */
export function plainToolResult(text: string, meta?: { [key: string]: unknown }): PlainToolResult {
  return { content: [{ type: 'text', text }], isError: true, ...(meta === undefined ? {} : { _meta: meta }) };
}
