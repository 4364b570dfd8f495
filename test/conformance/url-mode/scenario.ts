import type { UrlModeWorld } from './url-mode-world.ts';

/** Plays one requirement of the manifest. Fails by throwing. */
export interface Scenario {
  readonly id: string;
  readonly run: (world: UrlModeWorld) => Promise<void>;
}
