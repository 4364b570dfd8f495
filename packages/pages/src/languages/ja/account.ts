import type { Texts } from '../texts.ts';

export const account: Texts<'account'> = {
  'connection.users': '使用中のアプリ',
  'connection.unused': '使用中のアプリはありません',

  'me.signOut': 'ログアウト',
  'me.connections': '連携中のアカウント',
  'me.noConnections': '連携中のアカウントはありません。アプリが必要とする場合は、事前に確認が求められます。',
  'me.lost': '再連携が必要',
  'me.lost.refused': 'この連携は {provider} で使用できなくなりました。',
  'me.lost.rejected': 'この連携は {provider} に拒否されました。',
  'me.lost.expired': 'この連携は期間限定でした。',
  'me.lostNext': 'アカウントが必要になったときに、再連携が求められます。',
  'me.scopes': '権限',
  'me.scopesUnnamed': '同意の際に {provider} で表示された権限',
  'me.connectedAt': '連携日',
  'me.lastUse': '最終使用',
  'me.neverUsed': '未使用',
  'me.usedBy': '使用元: {mcpServer}',
  'me.usedFor': '用途: {tool}（{mcpServer} の申告）',
  'me.disconnect': '連携を解除',

  'disconnect.heading': '{provider} アカウントの連携を解除しますか？',
  'disconnect.consequences': '解除するとどうなるか',
  'disconnect.access': '{mcpServers} は、このアカウントを使用できなくなります。',
  'disconnect.deleted': '{brand} は、保存しているアクセス権をすぐに削除します。',
  'disconnect.revoke': '{provider} にアクセスの終了を依頼します。応答がない場合は、後でもう一度依頼します。',
  'disconnect.listed':
    '{provider} の連携アプリの一覧に、{brand} が引き続き表示されることがあります。一覧から削除できます。',
  'disconnect.unsupported':
    '{provider} では、ここからアクセスを終了できません。{provider} 側でも終了するには、{provider} の設定で {brand} を削除してください。',
  'disconnect.until':
    '以前アクセスを許可されたアプリは、{time}まで {provider} アカウントを使用できる可能性があります。',
  'disconnect.untilUnknown':
    '以前アクセスを許可されたアプリは、{provider} アカウントを引き続き使用できる可能性があります。期間は {provider} から示されていません。',
  'disconnect.shared':
    'ほかの連携でも {provider} の同じアクセス権を使用しているため、それらの連携も解除するまで、{provider} 側では何も変わりません。',
  'disconnect.again': 'アプリがこのアカウントを再び必要とする場合は、事前に確認が求められます。',
  'disconnect.keep': '連携を続ける',
  'disconnect.confirm': '連携を解除',

  'disconnected.heading': '{provider} アカウントの連携を解除しました',
  'disconnected.revoked': '{provider} 側でもアクセスが終了したことを確認しました。',
  'disconnected.refresh_token_revoked':
    '{provider} で、アクセスを更新できなくなったことを確認しました。現在のアクセスが終了したことは確認できていません。',
  'disconnected.access_token_revoked':
    '{provider} で、現在のアクセスが終了したことを確認しましたが、更新できなくなったことは確認できていません。更新に必要な情報は {brand} が削除しました。念のため、{provider} の設定で {brand} を削除してください。',
  'disconnected.pending':
    '{provider} でアクセスが終了したことは、まだ確認できていません。3日間、確認を続けます。お客様の操作は不要です。',
  'disconnected.unsupported':
    '{provider} では、ここからアクセスを終了できません。{provider} 側でも終了するには、{provider} の設定で {brand} を削除してください。',
  'disconnected.shared': 'ほかの連携で {provider} の同じアクセス権を使用しているため、ここでのみ削除しました。',
  'disconnected.back': 'アカウント連携に戻る',

  'me.credentials': '保存したアクセス情報',
  'me.fingerprint': '照合値',
  'me.fingerprintHint': '入力内容を見分けるための値です。入力内容そのものは表示されません。',
  'me.savedAt': '保存日',
  'me.savedAgainAt': '再入力日',
  'me.deleteCredential': '削除',
  'me.passkeys': 'パスキー',
  'me.passkeysText': '高額の支払いを承認するときに使用します。',
  'me.addedAt': '追加日',
  'me.removePasskey': '削除',
  'me.passkeyCountsFrom': '有効になる日時',
  'me.addPasskey': 'パスキーをもう1つ追加',

  'deleteCredential.heading': 'このアクセス情報を削除しますか？',
  'deleteCredential.named': '名前',
  'deleteCredential.access': '{mcpServers} は、このアクセス情報を使用できなくなります。',
  'deleteCredential.deleted': '{brand} はすぐに削除します。',
  'deleteCredential.stillValid':
    '発行元のサービスでは引き続き有効です。無効にするには、そのサービスで変更または取り消しをしてください。',
  'deleteCredential.again': 'アプリが再び必要とする場合は、事前に確認が求められます。',
  'deleteCredential.keep': '残しておく',
  'deleteCredential.confirm': '削除',

  'credentialDeleted.heading': 'アクセス情報を削除しました',

  'removePasskey.heading': 'このパスキーを削除しますか？',
  'removePasskey.name': 'パスキー',
  'removePasskey.proof': 'ご本人であることを確認するため、お使いのデバイスでパスキーの使用が求められます。',
  'removePasskey.useless': 'このパスキーでは承認できなくなります。',
  'removePasskey.last':
    'これが唯一のパスキーです。次に高額の支払いを承認する前に、新しいパスキーを追加することになります。',
  'removePasskey.device': 'デバイスのパスワードとパスキーの設定で削除するまで、デバイスには残ります。',
  'removePasskey.keep': '残しておく',
  'removePasskey.confirm': '削除',

  'passkeyRemoved.heading': 'パスキーを削除しました',

  'addPasskey.heading': 'パスキーをもう1つ追加',
  'addPasskey.proof': 'ご本人であることを確認するため、まず、お持ちのパスキーの使用が求められます。',
  'addPasskey.next': '次に、このデバイスまたは別のデバイスに新しいパスキーを追加します。',
  'addPasskey.permitted': 'パスキーを確認しました。新しいパスキーを追加してください。',
  'addPasskey.where': '保存先は、このデバイス、別のデバイス、セキュリティキーから選べます。',
  'addPasskey.keep': '戻る',

  'passkeyChange.noScript':
    'ブラウザでパスキーを使用するには、{technology} が必要です。有効にしてページを再読み込みするか、戻ってください。',
  'passkeyChange.cancelled': 'パスキーは使用されず、何も変更されませんでした。もう一度試すか、戻ってください。',
  'passkeyChange.alreadyAdded': 'このデバイスには、すでにパスキーがあります。別のデバイスを選ぶか、戻ってください。',
  'passkeyChange.failed': '操作に失敗し、何も変更されませんでした。もう一度試すか、戻ってください。',
  'passkeyChange.unsupported':
    'このブラウザでは、このページでパスキーを使用できません。別のブラウザで開くか、戻ってください。',
  'passkeyChange.notice.failed': 'パスキーを確認できず、何も変更されませんでした。もう一度試すか、戻ってください。',
  'passkeyChange.notice.not_added': 'パスキーを追加できませんでした。もう一度試すか、戻ってください。',
  'passkeyChange.lost': 'パスキーをすべて紛失した場合は、{brand} の運営者にリセットを依頼してください。',
  'mute.link': 'ミュートまたは報告',
  'mute.heading': '{mcpServer} からのリクエスト',
  'mute.text':
    '{mcpServer} をミュートすると、このアプリは新しいリクエストを送れなくなります。未回答のリクエストは拒否されます。',
  'mute.connections': '連携済みのアカウントは、連携を解除するまでそのままです。',
  'mute.confirm': 'ミュート',
  'mute.muted': '{mcpServer} をミュートしました。このアプリはリクエストを送れません。',
  'mute.undo': 'リクエストを再び許可',
  'mute.list': 'ミュート中のアプリ',
  'report.heading': '{brand} に報告',
  'report.text': '{brand} の運営者に理由が伝わります。アプリには通知されません。',
  'report.reason': '理由',
  'report.not_started': '自分で始めた操作ではない',
  'report.too_often': 'リクエストが多すぎる',
  'report.too_much': '必要以上の情報や権限を求めている',
  'report.pretends': '別の組織や人物を装っている',
  'report.send': '報告',
  'report.done': 'ありがとうございます。報告を記録しました。',
};
