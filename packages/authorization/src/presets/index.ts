import { discord, slack, zoom } from './communication.ts';
import { atlassian, bitbucket, github, githubApp, githubEnterprise, gitlab } from './developer-platforms.ts';
import { box, docusign, dropbox, notion } from './documents.ts';
import { auth0, keycloak, okta, oktaOrg } from './identity-providers.ts';
import { google, microsoft, microsoftEntra } from './office-suites.ts';
import type { Preset } from './preset.ts';
import {
  hubspot,
  intercom,
  intercomAu,
  intercomEu,
  salesforce,
  shopify,
  stripe,
  zendesk,
} from './sales-and-support.ts';
import { facebook, linkedin, reddit, spotify, twitch, x } from './social-media.ts';
import { airtable, asana, clickup, figma, linear, monday } from './work-management.ts';

/** Every preset, by name. */
export const presets: readonly Preset[] = [
  airtable,
  asana,
  atlassian,
  auth0,
  bitbucket,
  box,
  clickup,
  discord,
  docusign,
  dropbox,
  facebook,
  figma,
  github,
  githubApp,
  githubEnterprise,
  gitlab,
  google,
  hubspot,
  intercom,
  intercomAu,
  intercomEu,
  keycloak,
  linear,
  linkedin,
  microsoft,
  microsoftEntra,
  monday,
  notion,
  okta,
  oktaOrg,
  reddit,
  salesforce,
  shopify,
  slack,
  spotify,
  stripe,
  twitch,
  x,
  zendesk,
  zoom,
];
