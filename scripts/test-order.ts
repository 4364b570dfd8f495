/** The order of the test files: no worker may begin a long file when the others are about to finish. */
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { root } from './child.ts';

/** Files that take more than about 20 seconds in `test --all` on two processors, the longest first. The others follow by size. */
export const LONG_FILES: readonly string[] = [
  'test/machines/images.slow.test.ts',
  'test/packages/published-packages.slow.test.ts',
  'test/balancers/rolling-restarts.slow.test.ts',
  'test/faults/network.slow.test.ts',
  'packages/pages/src/every-page.slow.test.ts',
  'test/replicas/kept-over-failovers.slow.test.ts',
  'test/outbound/outbound-clients.slow.test.ts',
  'test/one-person/paying.slow.test.ts',
  'test/faults/redis.slow.test.ts',
  'test/faults/process.slow.test.ts',
  'test/one-person/asking.slow.test.ts',
  'test/faults/load.slow.test.ts',
  'test/conformance/url-mode/url-mode.slow.test.ts',
  'test/replicas/payment-crash-points.slow.test.ts',
  'test/replicas/refund-crash-points.slow.test.ts',
  'test/faults/fuzz/browser-routes.slow.test.ts',
  'test/one-person/file-faults.slow.test.ts',
  'test/replicas/key-service-rotation.slow.test.ts',
  'test/one-person/connecting.slow.test.ts',
  'packages/pages/src/narrow-pages.slow.test.ts',
  'packages/elicitation/src/elicitation-model.test.ts',
  'test/local/personal-gateway.slow.test.ts',
  'test/one-person/operating.slow.test.ts',
  'test/e2e/read-only-get.slow.test.ts',
  'test/replicas/verbs-calls.slow.test.ts',
  'test/replicas/completion-notices.slow.test.ts',
  'test/proxy/foreign-servers.slow.test.ts',
  'test/proxy/conformance.slow.test.ts',
  'packages/store-sqlite/src/killed.slow.test.ts',
  'packages/store-redis/src/redis-topologies.slow.test.ts',
  'test/replicas/verbs-matrix.slow.test.ts',
  'scripts/command-line.slow.test.ts',
  'packages/proxy/src/main.slow.test.ts',
  'test/helm/chart.slow.test.ts',
  'test/admin-api/admin-api.test.ts',
  'test/replicas/drain-process.slow.test.ts',
  'test/reload/reload-process.slow.test.ts',
  'test/faults/fuzz/machine-routes.slow.test.ts',
  'services/gateway/src/cli/command-table.test.ts',
  'test/security/floods.slow.test.ts',
  'scripts/demo.slow.test.ts',
  'test/e2e/issued-pages.test.ts',
  'packages/store-redis/src/redis-stores.test.ts',
  'test/console/pages.browser.test.ts',
  'test/e2e/hostile-text.slow.test.ts',
  'test/replicas/refresh-stampede.slow.test.ts',
  'services/gateway/src/events/webhooks/webhooks-killed.slow.test.ts',
  'test/reload/reload.test.ts',
  'test/e2e/accessible-every-kind.slow.test.ts',
  'test/docs/typescript-blocks.slow.test.ts',
  'test/replicas/events.slow.test.ts',
  'test/walk/walk.slow.test.ts',
  'test/replicas/verbs-replicas.slow.test.ts',
  'test/replicas/redis-topologies.slow.test.ts',
  'services/gateway/src/start-refusal.slow.test.ts',
  'test/replicas/crash-points.slow.test.ts',
  'packages/pages/src/first-view.browser.test.ts',
  'test/conformance/any-server/any-server.slow.test.ts',
  'tools/conformance/src/client/scenarios.slow.test.ts',
  'packages/pages/src/page-script.slow.test.ts',
  'test/replicas/webhooks.slow.test.ts',
  'test/e2e/payment-races.slow.test.ts',
  'test/outbound/outbound-failures.slow.test.ts',
  'test/replicas/verbs-host.slow.test.ts',
  'test/api/audit.slow.test.ts',
];

interface TestFile {
  readonly moduleId: string;
}

function rankOf({ moduleId }: TestFile): number {
  const at = LONG_FILES.findIndex(path => moduleId.endsWith(`/${path}`));
  return at === -1 ? LONG_FILES.length : at;
}

/** System tests first: the others fill the gaps at the end. */
function kindOf({ moduleId }: TestFile): number {
  return moduleId.startsWith(join(root, 'test/')) ? 0 : 1;
}

/** Puts the long files first. Sorts the others by kind, and keeps their order otherwise. */
export function inOrder<File extends TestFile>(files: readonly File[]): File[] {
  return files.toSorted((a, b) => rankOf(a) - rankOf(b) || kindOf(a) - kindOf(b));
}

/** Deals the files out in turn, back and forth, so that every shard gets as many long ones. */
export function inShard<File extends TestFile>(
  files: readonly File[],
  { index, count }: { readonly index: number; readonly count: number },
): File[] {
  const byPath = files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
  return inOrder(byPath).filter((_, nth) => {
    const place = nth % (2 * count);
    return index - 1 === (place < count ? place : 2 * count - 1 - place);
  });
}

export class LongestFirst extends BaseSequencer {
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shard } = this.ctx.config;
    return shard === undefined ? files : inShard(files, shard);
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return inOrder(await super.sort(files));
  }
}
