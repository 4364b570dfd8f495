import { createAdminAudit, type RecordAct } from '../admin/admin-audit.ts';
import { type AdminService, createAdminService } from '../admin/admin-service.ts';
import type { CliIo } from './cli-io.ts';
import { type OpenStore, openStore } from './open-store.ts';

export interface OpenAdmin extends AsyncDisposable {
  readonly admin: AdminService;
  readonly store: OpenStore;
}

/** Opens the admin service over the stores of a configuration. @throws as openStore */
export async function openAdmin(configPath: string, io: CliIo): Promise<OpenAdmin> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(configPath, io));
  const admin = stack.use(createAdminService({ ...store, now: Date.now }));
  const held = stack.move();
  return { admin, store, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Records the acts of commands for which the admin service has no verb. */
export const recordIn = (store: OpenStore): RecordAct =>
  createAdminAudit({ ...store, audits: store.stores.audits, now: Date.now });
