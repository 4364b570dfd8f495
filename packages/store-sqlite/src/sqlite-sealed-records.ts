import type {
  ClientRegistrationStore,
  Credential,
  SealedKind,
  SealedRecord,
  SealedRecordName,
  SealedRecordStore,
  SealedRecordsStep,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Records } from './records.ts';
import type { ApiKeyRow } from './sqlite-api-key-store.ts';
import type { ConnectionRow } from './sqlite-connection-store.ts';
import type { ElicitationRow } from './sqlite-elicitation-store.ts';
import type { RevocationRow } from './sqlite-revocation-store.ts';

interface RegistrationRow {
  readonly sealedRegistration: string;
}

export class SqliteClientRegistrationStore implements ClientRegistrationStore {
  readonly #database: Database;
  readonly #rows: Records<RegistrationRow>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Records(database, 'registration');
  }

  async read(digest: string): Promise<string | undefined> {
    return this.#rows.get(digest)?.sealedRegistration;
  }

  async putIfAbsent(digest: string, sealedRegistration: string): Promise<string> {
    return this.#database.commit(() => {
      const known = this.#rows.get(digest);
      if (known === undefined) this.#rows.put(digest, { sealedRegistration });
      return known?.sealedRegistration ?? sealedRegistration;
    });
  }

  async remove(digest: string, sealedRegistration: string): Promise<void> {
    this.#database.commit(() => {
      if (this.#rows.get(digest)?.sealedRegistration === sealedRegistration) this.#rows.delete(digest);
    });
  }
}

/** Records read in one step. */
const PER_STEP = 250;

/** The records of one kind. Those without a sealed value are skipped. */
interface SealedPart {
  page(after: string): readonly { readonly id: string; readonly record: SealedRecord | undefined }[];
  replace(id: string, sealed: string, nextSealed: string): boolean;
}

/** The step that reads a record and the one that changes it, for each kind of sealed value. */
function partsOf(database: Database): Readonly<Record<SealedKind, SealedPart>> {
  function part<Row>(
    kind: string,
    recordOf: (row: Row, id: string) => SealedRecord | undefined,
    withSealed: (row: Row, sealed: string) => Row,
  ): SealedPart {
    const rows = new Records<Row>(database, kind);
    return {
      page: after => rows.page(after, PER_STEP).map(({ id, row }) => ({ id, record: recordOf(row, id) })),
      replace(id, sealed, nextSealed) {
        const row = rows.get(id);
        const stored = row && recordOf(row, id)?.sealed;
        if (row !== undefined && stored === sealed) rows.rewrite(id, withSealed(row, nextSealed));
        return stored !== undefined && (stored === sealed || stored === nextSealed);
      },
    };
  }
  return {
    connection: part<ConnectionRow>(
      'connection',
      ({ connection }, id) => ({ kind: 'connection', id, ...tokensIn(connection) }),
      (row, sealedTokens) => ({ ...row, connection: { ...row.connection, sealedTokens } }),
    ),
    revocation: part<RevocationRow>(
      'revocation',
      ({ revocation }, id) => ({ kind: 'revocation', id, ...tokensIn(revocation) }),
      (row, sealedTokens) => ({ ...row, revocation: { ...row.revocation, sealedTokens } }),
    ),
    credential: part<Credential>(
      'credential',
      ({ owner, subject, name, elicitationId, sealedValues: sealed }, id) => ({
        kind: 'credential',
        id,
        sealed,
        owner,
        subject,
        name,
        elicitationId,
      }),
      (row, sealedValues) => ({ ...row, sealedValues }),
    ),
    result: part<ElicitationRow>(
      'elicitation',
      ({ elicitation, sealedResult: sealed }, id) => {
        if (sealed === undefined) return undefined;
        const { elicitationId, mcpServerId, subject, request } = elicitation;
        return { kind: 'result', id, sealed, elicitationId, mcpServerId, subject, request: { kind: request.kind } };
      },
      (row, sealedResult) => ({ ...row, sealedResult }),
    ),
    registration: part<RegistrationRow>(
      'registration',
      ({ sealedRegistration: sealed }, id) => ({ kind: 'registration', id, sealed }),
      (_, sealedRegistration) => ({ sealedRegistration }),
    ),
    apiKey: part<ApiKeyRow>(
      'api key',
      ({ mcpServerId, sealedDigest: sealed }, id) =>
        sealed === undefined ? undefined : { kind: 'apiKey', id, mcpServerId, sealed },
      (row, sealedDigest) => ({ ...row, sealedDigest }),
    ),
  };
}

type Tokens = Extract<SealedRecord, { kind: 'connection' | 'revocation' }>;

function tokensIn(row: Omit<Tokens, 'kind' | 'id' | 'sealed'> & { readonly sealedTokens: string }) {
  const { owner, subject, provider, resource, elicitationId, sealedTokens: sealed } = row;
  return { sealed, owner, subject, provider, elicitationId, resource };
}

/** Reads the records of a kind in the order of their ids. */
export class SqliteSealedRecords implements SealedRecordStore {
  readonly #database: Database;
  readonly #parts: Readonly<Record<SealedKind, SealedPart>>;

  constructor(database: Database) {
    this.#database = database;
    this.#parts = partsOf(database);
  }

  async *walk(): AsyncGenerator<SealedRecordsStep, void, undefined> {
    for (const part of Object.values(this.#parts)) {
      let after: string | undefined = '';
      while (after !== undefined) {
        const found = part.page(after);
        yield { records: found.flatMap(({ record }) => record ?? []), unreadable: [] };
        after = found.length < PER_STEP ? undefined : found.at(-1)?.id;
      }
    }
  }

  async replace({ kind, id, sealed }: SealedRecordName & { readonly sealed: string }, nextSealed: string) {
    return this.#database.commit(() => this.#parts[kind].replace(id, sealed, nextSealed));
  }
}
