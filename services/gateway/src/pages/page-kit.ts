import type { Browser } from './browser.ts';
import type { PageViews } from './page-views.ts';

/** What page routes use: their own dependencies, the cookies of the browser, and the views. */
export interface PageKit<Deps> {
  readonly deps: Deps;
  readonly browser: Browser;
  readonly views: PageViews;
}
