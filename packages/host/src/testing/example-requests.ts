import type { ElicitationContext, FormElicitation, UrlElicitation } from '../elicitation.ts';
import { formRequest, urlRequest } from '../requests.ts';

const never = new AbortController().signal;

export const context: ElicitationContext = {
  mcpServer: { id: 'issues', url: 'https://mcp.example.com', claimedName: 'Issue Tracker' },
  toolName: 'create_issue',
  signal: never,
};

export const formOf = (properties: Record<string, unknown>, required: readonly string[] = []): FormElicitation =>
  formRequest({ message: 'Tell me more.', requestedSchema: { type: 'object', properties, required } });

export const url: UrlElicitation = urlRequest({
  message: 'Connect your account.',
  url: 'https://gate.example.com/e/1',
  elicitationId: 'el-1',
});
