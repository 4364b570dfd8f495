import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AuthInfo } from '@modelcontextprotocol/server';

/** The request type of both SDKs' Node handlers, which name it differently. */
export type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };
export type NodeHandler = (request: AuthenticatedRequest, response: ServerResponse) => void | Promise<void>;

/** Issuer of all users in tests. The bearer token is the subject. */
const ISSUER = 'https://idp.example.com';

/** Serves an MCP endpoint on loopback, with a token verifier that accepts every token. */
export class McpHttpServer implements AsyncDisposable {
  readonly #httpServer: Server;

  private constructor(httpServer: Server) {
    this.#httpServer = httpServer;
  }

  static async start(handler: NodeHandler): Promise<McpHttpServer> {
    const httpServer = createServer((request: AuthenticatedRequest, response) => {
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
      if (token !== undefined) {
        request.auth = { token, clientId: 'test', scopes: [], extra: { iss: ISSUER, sub: token } };
      }
      void handler(request, response);
    });
    await new Promise<void>(resolve => httpServer.listen(0, '127.0.0.1', resolve));
    return new McpHttpServer(httpServer);
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#httpServer.address() as AddressInfo).port}/mcp`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#httpServer.closeAllConnections();
    await new Promise(resolve => this.#httpServer.close(resolve));
  }
}
