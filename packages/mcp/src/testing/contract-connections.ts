import { createHash, randomUUID } from 'node:crypto';
import type {
  AccessTokenBody,
  AccessTokenRequest,
  ConnectionBody,
  IssueElicitation,
  listConnectionsQuerySchema,
  ProblemCode,
} from '@postern/api';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { z } from 'zod/v4';
import { seal } from './contract-sealing.ts';

/** Prefix of every issued access token. It must not appear in an MCP frame. */
export const ACCESS_TOKEN = 'canary-provider-access-token';

interface NewConnection {
  readonly connectionId: string;
  readonly askKey: string;
  readonly subject: IssueElicitation['subject'];
  readonly provider: string;
  readonly scopes: string[];
  readonly createdAt: string;
}

interface StoredConnection extends NewConnection {
  generation: number;
  isLost: boolean;
}

/** Connections and their tokens according to the contract. Tokens differ by connection and generation. */
export class ContractConnections {
  readonly #stored = new Map<string, StoredConnection>();
  /** The tool of each access token request, in order. */
  readonly tools: (string | undefined)[] = [];
  /** Number of token sets refreshed because they were rejected. */
  renewals = 0;
  refreshable = true;
  /** The public key registered for the MCP server. */
  encryptionKey: JWK | undefined;
  sealsAlways = false;
  /** The configured API hosts of the provider. */
  apiHosts: string[] | undefined;
  /** Changes a response on its way, like a proxy between gateway and MCP server. */
  tamper: (answer: AccessTokenBody) => AccessTokenBody = answer => answer;
  #dpop: { readonly privateKey: CryptoKey; readonly publicJwk: JWK } | undefined;

  /** From now on, tokens are bound to a key. Resolves to its thumbprint (RFC 7638). */
  async bindTokens(): Promise<string> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    this.#dpop = { privateKey, publicJwk: await exportJWK(publicKey) };
    return await calculateJwkThumbprint(this.#dpop.publicJwk);
  }

  add(connection: NewConnection): void {
    this.#stored.set(connection.connectionId, { ...connection, generation: 1, isLost: false });
  }

  serving(askKey: string): NewConnection | undefined {
    return [...this.#stored.values()].find(one => one.askKey === askKey && !one.isLost);
  }

  /** The provider revokes the authorization. */
  lose(connectionId: string): void {
    this.#of(connectionId).isLost = true;
  }

  /** Stores a newer token set, as after a refresh by the gateway. */
  renew(connectionId: string): void {
    this.#of(connectionId).generation += 1;
  }

  /** The token that the provider's API accepts now. */
  current(connectionId: string): string {
    return `${ACCESS_TOKEN}-${connectionId}-${this.#of(connectionId).generation}`;
  }

  isCurrent(token: string): boolean {
    return [...this.#stored.values()].some(one => !one.isLost && this.current(one.connectionId) === token);
  }

  list(query: z.infer<typeof listConnectionsQuerySchema>): ConnectionBody[] {
    return [...this.#stored.values()].flatMap(({ connectionId, subject, provider, scopes, createdAt, isLost }) =>
      'issuer' in subject &&
      subject.issuer === query.issuer &&
      subject.subject === query.subject &&
      provider === query.provider
        ? [
            {
              connectionId,
              provider,
              scopes,
              createdAt,
              updatedAt: createdAt,
              status: isLost ? ('reauthorization_required' as const) : ('usable' as const),
            },
          ]
        : [],
    );
  }

  async take(connectionId: string, request: AccessTokenRequest): Promise<AccessTokenBody | ProblemCode> {
    const connection = this.#stored.get(connectionId);
    if (connection === undefined) return 'not_found';
    if (request.sealed === true && this.encryptionKey === undefined) return 'encryption_key_not_registered';
    if (connection.isLost) return 'reauthorization_required';
    if (request.rejectedGeneration === connection.generation) {
      if (!this.refreshable) {
        connection.isLost = true;
        return 'reauthorization_required';
      }
      connection.generation += 1;
      this.renewals += 1;
    }
    if (request.dpop !== undefined && this.#dpop === undefined) return 'token_not_dpop_bound';
    this.tools.push(request.tool);
    const { generation, scopes } = connection;
    const accessToken = this.current(connectionId);
    const facts = {
      tokenType: this.#dpop === undefined ? 'Bearer' : 'DPoP',
      scopes,
      generation,
      apiHosts: this.apiHosts,
      ...(request.dpop === undefined ? {} : { dpopProof: await this.#proof(accessToken, request.dpop) }),
    };
    const isSealed = this.encryptionKey !== undefined && (request.sealed === true || this.sealsAlways);
    return this.tamper(
      isSealed
        ? {
            sealedAccessToken: await seal(accessToken, this.encryptionKey, {
              typ: 'postern-access-token+jwe',
              connectionId,
              generation,
            }),
            ...facts,
          }
        : { accessToken, ...facts },
    );
  }

  async #proof(accessToken: string, { method, url, nonce }: NonNullable<AccessTokenRequest['dpop']>): Promise<string> {
    if (this.#dpop === undefined) throw new Error('tokens are not bound');
    return await new SignJWT({
      jti: randomUUID(),
      htm: method,
      htu: url,
      ath: createHash('sha256').update(accessToken).digest('base64url'),
      nonce,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: this.#dpop.publicJwk })
      .setIssuedAt()
      .sign(this.#dpop.privateKey);
  }

  #of(connectionId: string): StoredConnection {
    const connection = this.#stored.get(connectionId);
    if (connection === undefined) throw new Error('no such connection');
    return connection;
  }
}
