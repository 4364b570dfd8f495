/** Predefined names for the examples of packages/host/README.md. */
import type { ElicitationHandler, Terminal, TerminalOptions } from '@postern/host';

export { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
export { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
export {
  accept,
  attachHost,
  createCiHandler,
  createTerminal,
  ElicitationRefusedError,
  firstOf,
  formRequest,
  type OptionalElicitationHandler,
  rateLimited,
  urlElicitationRequiredError,
  urlRequest,
  when,
} from '@postern/host';
export { attachHostV1 } from '@postern/host/v1';
export declare const options: TerminalOptions;
export declare const url: string;
export declare const terminal: Terminal;
export declare const handler: ElicitationHandler;
export declare function callTool(): Promise<unknown>;
export declare function log(line: string): void;
