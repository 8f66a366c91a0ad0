package classifier

// PrivateOnly is what every connection over plain HTTP is held to.
var PrivateOnly = privateOnly
