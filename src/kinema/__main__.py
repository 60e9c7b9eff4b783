from kinema.cli.main import main

main()
