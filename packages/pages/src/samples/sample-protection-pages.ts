/** The page of an MCP server at /me: muting and reporting. */
import { type McpServerPageView, mcpServerPage } from '../pages/mcp-server-page.ts';
import type { PageContext } from '../views.ts';
import { longMcpServer, sampleMcpServer } from './sample-views.ts';

const mute = { isMuted: false, muteAction: '/me/mcp-servers/issues/mute', undoAction: '/me/mcp-servers/issues/unmute' };
const view: McpServerPageView = {
  mcpServer: sampleMcpServer,
  mute,
  reportAction: '/me/mcp-servers/issues/report',
  isReported: false,
  backHref: '/me',
  csrfToken: 'csrf-value',
};

export const sampleProtectionPages: Readonly<Record<string, (context: PageContext) => string>> = {
  'mcp-server': context => mcpServerPage(context, view),
  'mcp-server-muted': context =>
    mcpServerPage(context, { ...view, mute: { ...mute, isMuted: true }, isReported: true }),
  'mcp-server-extreme': context => {
    const { mute: _mute, ...reportOnly } = view;
    return mcpServerPage(context, { ...reportOnly, mcpServer: longMcpServer });
  },
};
