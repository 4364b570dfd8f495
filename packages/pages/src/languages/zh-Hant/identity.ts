import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': '請先登入再繼續',
  'signIn.text': '您使用的某個應用程式需要您的答覆。請登入，確保只有您本人看得到。',
  'signIn.connections': '登入後，您可以查看已連結的帳戶，也可以解除連結。',
  'signIn.continue': '前往登入',
  'signIn.choose': '請選擇您在這裡使用應用程式的帳戶。',
  'signIn.with': '使用 {name} 登入',

  'signInFailed.heading': '登入失敗',
  'signInFailed.text': '登入服務沒有回應，或拒絕了這次登入。請稍候片刻再試一次。',
  'signInFailed.retry': '再試一次',

  'signInAgain.title': '重新登入',
  'signInAgain.heading': '請在 {app} 重新登入',
  'signInAgain.text': '這個步驟需要您最近登入過。請在 {app} 重新登入，從那裡開啟連結，並在五分鐘內返回這個頁面。',

  'signedOut.heading': '您已登出',
  'signedOut.text': '您可以關閉這個視窗。',
  'signedOut.elsewhere': '您可能仍在 {host} 上保持登入狀態。',
  'signedOut.there': '同時在那裡登出',

  'wrongPerson.heading': '這項要求屬於另一個帳戶',
  'wrongPerson.text': '如果您有其他帳戶，請用該帳戶登入。如果連結是別人傳給您的，請關閉這個視窗。沒有分享任何內容。',
  'wrongPerson.switchAccount': '改用其他帳戶',

  'wrongBrowser.heading': '這項操作是在另一個瀏覽器中發起的',
  'wrongBrowser.text': '為了保護您，操作已在此停止。沒有連結任何帳戶。',
  'wrongBrowser.next': '如果是您本人發起的，請返回您的應用程式重新開始。如果連結是別人傳給您的，請關閉這個視窗。',

  'noRequest.heading': '找不到與此回應對應的要求',
  'noRequest.text':
    '將您帶回此處的服務沒有說明其回應屬於哪項要求，或者該要求已結束。沒有連結任何帳戶，也沒有拒絕任何要求。',
  'noRequest.next': '請重新開啟該要求，以繼續或拒絕。',
  'noRequest.nextInApp': '請返回您的應用程式，重新開啟連結。',
  'noRequest.open': '開啟要求',
};
