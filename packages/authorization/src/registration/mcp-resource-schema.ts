import { endpointUrlSchema } from '../config-values.ts';

/**
 * The canonical URI of an MCP server (MCP authorization, "Canonical Server URI"; RFC 8707 section 2). Compared as a string
 * with what the server says of itself and sent as it is written, so the form without a path may go without a slash, and
 * everything else is as a URL parser would write it.
 */
export const mcpResourceSchema = endpointUrlSchema.refine(value => {
  const href = URL.parse(value)?.href;
  return value === href || `${value}/` === href;
}, 'must be the canonical form, e.g. with its host in lower case');
