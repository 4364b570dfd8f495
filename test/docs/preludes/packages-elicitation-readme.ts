/** Predefined names for the examples of packages/elicitation/README.md. */
import type { ElicitationId, ElicitationService, ElicitationServiceDeps, McpServer } from '@postern/elicitation';

type Issue = Parameters<ElicitationService['issue']>[1];

export { createElicitationService } from '@postern/elicitation';
export declare const elicitations: ElicitationServiceDeps['elicitations'];
export declare const connections: ElicitationServiceDeps['connections'];
export declare const notifier: ElicitationServiceDeps['notifier'];
export declare const providers: ElicitationServiceDeps['providers'];
export declare const audit: ElicitationServiceDeps['audit'];
export declare const entropy: ElicitationServiceDeps['entropy'];
export declare const now: ElicitationServiceDeps['now'];
export declare const mcpServer: McpServer;
export declare const subject: Issue['subject'];
export declare const request: Issue['request'];
export declare const ttlMs: number;
export declare const elicitationId: ElicitationId;
export declare const signal: AbortSignal;
