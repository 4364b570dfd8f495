import type { UrlModeStage } from './url-mode-stage.ts';

/** Plays one requirement of the manifest. Fails by throwing. */
export interface Scenario {
  readonly id: string;
  readonly run: (stage: UrlModeStage) => Promise<void>;
}
